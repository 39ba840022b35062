// Draws the page's charts from its data, in the page's colours, again when the colours or the width change.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  const symbols = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin'];
  const dashes = ['solid', [7, 4], [2, 3], [10, 3, 2, 3]];
  const drawn = [];

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const digits = (value) => {
    const size = Math.abs(value);
    const decimals = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  };

  const size = (value) => value.toLocaleString('en', { maximumFractionDigits: 1 });

  // What is the same thing in several runs has one colour and mark; the runs differ in the line.
  function looks(chart) {
    const keys = [];
    chart.series.forEach((one) => {
      if (one.role === 'OURS' && !keys.includes(one.key)) keys.push(one.key);
    });
    const others = [];
    chart.series.forEach((one) => {
      if (one.role !== 'OURS' && !others.includes(one.key)) others.push(one.key);
    });
    return (one) => {
      if (one.role === 'OURS') {
        const at = keys.indexOf(one.key);
        const shade = chart.kind === 'BARS' ? (one.run + at) % 6 : at % 6;
        return { colour: colour('c' + shade), symbol: symbols[at % symbols.length], dash: dashes[one.run % dashes.length] };
      }
      if (one.role === 'YARDSTICK' && keys.includes(one.key)) { // the same thing by plain C
        return { colour: colour('c' + keys.indexOf(one.key) % 6), symbol: 'circle', hollow: true, dash: [2, 3] };
      }
      if (one.role === 'CEILING') return { colour: colour('ceiling'), symbol: 'none', dash: [6, 4] };
      return { colour: colour('yard'), symbol: 'circle', hollow: true, dash: dashes[(1 + others.indexOf(one.key)) % dashes.length] };
    };
  }

  // Rows that a legend takes, since what is below must begin there.
  function legendRows(chart, width) {
    if (chart.series.length < 2) return 0;
    let rows = 1;
    let used = 0;
    chart.series.forEach((one) => {
      const own = 48 + one.name.length * 7.4;
      if (used > 0 && used + own > width) { rows++; used = 0; }
      used += own;
    });
    return rows;
  }

  function common(chart, narrow, width) {
    const text = colour('text');
    const rows = legendRows(chart, width);
    return {
      animation: !still,
      backgroundColor: 'transparent',
      textStyle: { color: text, fontFamily: getComputedStyle(document.body).fontFamily },
      aria: { enabled: true, decal: { show: chart.kind === 'BARS' && chart.series.length > 1 } },
      legend: {
        show: rows > 0, top: 0, left: 0, right: 0, itemWidth: 24, itemGap: 10,
        textStyle: { color: text, fontSize: 12 }
      },
      grid: { left: 8, right: narrow ? 22 : 28, top: 14 + rows * 24, bottom: 26, containLabel: true },
      tooltip: {
        trigger: chart.kind === 'BARS' ? 'item' : 'axis', confine: true, backgroundColor: colour('raised'),
        borderColor: colour('line'), textStyle: { color: text, fontSize: 13 }
      }
    };
  }

  function axis(more) {
    return Object.assign({
      axisLine: { lineStyle: { color: colour('quiet') } },
      axisTick: { lineStyle: { color: colour('quiet') } },
      axisLabel: { color: colour('quiet'), fontSize: 12, hideOverlap: true },
      nameTextStyle: { color: colour('quiet'), fontSize: 12 },
      splitLine: { lineStyle: { color: colour('line') } },
      minorSplitLine: { show: false }
    }, more);
  }

  function spread(one) {
    // A thin bar from the lowest to the highest, drawn as a series of short lines of its own.
    return one.points.filter((p) => p[3] > p[2]).map((p) => [
      { coord: [Math.log2(p[0]), p[2]], symbol: 'none' }, { coord: [Math.log2(p[0]), p[3]], symbol: 'none' }
    ]);
  }

  function row(name, mark, value, unit) {
    const span = document.createElement('span');
    span.textContent = name;
    return '<div>' + mark + ' ' + span.innerHTML + ': <b>' + value + '</b> ' + unit + '</div>';
  }

  function curves(chart, narrow, width) {
    const look = looks(chart);
    const option = common(chart, narrow, width);
    // Doublings are steps of one, so that the axis has its marks where the sizes are.
    const steps = chart.series.flatMap((one) => one.points.map((p) => Math.log2(p[0])));
    const first = Math.floor(Math.min(...steps));
    const last = Math.max(first + 1, Math.ceil(Math.max(...steps)));
    option.xAxis = axis({
      type: 'value', name: chart.axis, nameLocation: 'middle', nameGap: 26, min: first, max: last,
      interval: last - first > 6 ? 2 : 1, splitLine: { show: false }
    });
    option.xAxis.axisLabel.formatter = (value) => size(Math.pow(2, value));
    option.yAxis = axis({ type: 'value', name: chart.unit, nameLocation: 'end', min: 0 });
    option.grid.bottom = 30;
    option.grid.top += 22;
    option.tooltip.formatter = (items) => {
      return '<b>' + size(items[0].value[2]) + ' ' + chart.axis.split(', ')[1] + '</b>' + items.map((item) =>
        row(item.seriesName, item.marker, digits(item.value[1]), chart.unit)).join('');
    };
    option.series = chart.series.map((one) => {
      const own = look(one);
      return {
        name: one.name, type: 'line', data: one.points.map((p) => [Math.log2(p[0]), p[1], p[0]]), symbol: own.symbol, symbolSize: 8,
        showSymbol: true, color: own.colour, lineStyle: { color: own.colour, width: 2, type: own.dash },
        itemStyle: own.hollow ? { color: colour('back'), borderColor: own.colour, borderWidth: 2 } : { color: own.colour }, emphasis: { focus: 'series' },
        markLine: {
          silent: true, animation: false, symbol: 'none', lineStyle: { color: own.colour, width: 1.5, type: 'solid', opacity: 0.55 },
          label: { show: false }, data: one.role === 'CEILING' ? [] : spread(one)
        }
      };
    });
    return option;
  }

  function bars(chart, narrow, width) {
    const look = looks(chart);
    const option = common(chart, narrow, width);
    option.yAxis = axis({ type: 'category', data: chart.categories, inverse: true, splitLine: { show: false } });
    option.yAxis.axisLabel.color = colour('text');
    option.yAxis.axisLabel.hideOverlap = false;
    option.yAxis.axisLabel.width = narrow ? 84 : 150;
    option.yAxis.axisLabel.overflow = 'break';
    option.yAxis.axisLabel.lineHeight = 14;
    option.xAxis = axis({ type: 'value', name: chart.unit, nameLocation: 'middle', nameGap: 24, min: 0 });
    if (chart.unit === '%') {
      option.xAxis.max = (value) => Math.max(100, Math.ceil(value.max / 10) * 10);
      option.xAxis.axisLabel.formatter = '{value} %';
      option.xAxis.name = '';
    }
    option.grid.right = narrow ? 44 : 60;
    option.tooltip.formatter = (item) => {
      const p = item.data.spread;
      return row(item.seriesName, item.marker, digits(p[1]), chart.unit) +
        (p[3] > p[2] ? '<div>' + digits(p[2]) + ' to ' + digits(p[3]) + '</div>' : '');
    };
    option.series = chart.series.map((one) => {
      const own = look(one);
      return {
        name: one.name, type: 'bar', barMaxWidth: 26, barGap: '12%', color: own.colour,
        data: chart.categories.map((_, at) => {
          const p = one.points.find((point) => point[0] === at);
          return p ? { value: p[1], spread: p } : { value: null };
        }),
        label: {
          show: true, position: 'right', color: colour('text'), fontSize: 12,
          formatter: (item) => chart.unit === '%' ? Math.round(item.value) + ' %' : digits(item.value)
        }
      };
    });
    const rows = chart.categories.length * Math.max(1, chart.series.length);
    option.height = Math.max(300, 70 + rows * 26);
    return option;
  }

  // Percentiles lie on an axis of one over what is left, so that each step to the right is ten times rarer.
  function latencies(chart, narrow, width) {
    const look = looks(chart);
    const option = common(chart, narrow, width);
    const rare = (percentile) => 1 / Math.max(1 - percentile / 100, 1e-5);
    const named = [[1, '0'], [2, '50'], [10, '90'], [100, '99'], [1000, '99.9'], [10000, '99.99'], [100000, 'worst']];
    option.xAxis = axis({
      type: 'log', logBase: 10, name: chart.axis, nameLocation: 'middle', nameGap: 26, min: 1, max: 100000,
      splitLine: { show: false }
    });
    option.xAxis.axisLabel.formatter = (value) => {
      const found = named.find((pair) => Math.abs(pair[0] - value) < value * 0.01);
      return found ? found[1] : '';
    };
    option.yAxis = axis({ type: 'log', logBase: 10, name: chart.unit });
    option.yAxis.axisLabel.formatter = (value) => String(Number(value.toPrecision(2)));
    option.grid.bottom = 30;
    option.grid.top += 22;
    option.tooltip.trigger = 'item';
    option.tooltip.formatter = (item) => row(
      item.seriesName, item.marker, digits(item.value[1]), chart.unit + ' at ' +
      (item.value[2] === 100 ? 'worst' : 'p' + item.value[2]));
    option.series = chart.series.map((one) => {
      const own = look(one);
      return {
        name: one.name, type: 'line', step: false, data: one.points.filter((p) => p[1] > 0).map((p) => [rare(p[0]), p[1], p[0]]),
        symbol: own.symbol, symbolSize: 7, color: own.colour, lineStyle: { color: own.colour, width: 2, type: own.dash },
        itemStyle: own.hollow ? { color: colour('back'), borderColor: own.colour, borderWidth: 2 } : { color: own.colour }, emphasis: { focus: 'series' }
      };
    });
    return option;
  }

  function draw() {
    const narrow = window.innerWidth < 640;
    drawn.splice(0).forEach((one) => one.dispose());
    data.charts.forEach((chart) => {
      const place = document.getElementById('chart-' + chart.id);
      const option = { CURVES: curves, BARS: bars, LATENCIES: latencies }[chart.kind](chart, narrow, place.clientWidth);
      if (option.height) place.style.height = option.height + 'px';
      delete option.height;
      const one = echarts.init(place, null, { renderer: 'svg' });
      one.setOption(option);
      place.setAttribute('aria-label', place.parentElement.querySelector('h3').textContent +
        '; its numbers are in the tables below');
      drawn.push(one);
    });
  }

  let width = window.innerWidth;
  draw();
  dark.addEventListener('change', draw);
  window.addEventListener('resize', () => {
    if ((width < 640) !== (window.innerWidth < 640)) draw();
    else drawn.forEach((one) => one.resize());
    width = window.innerWidth;
  });
})();
