"use strict";

/* Light or dark: the system's, or what the reader chose. Without storage a choice lasts for the page. */
const theme = {
  chosen() {
    try { return localStorage.getItem("holdfast-theme"); } catch { return null; }
  },
  dark() {
    const own = document.documentElement.dataset.theme;
    return own ? own === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  },
  take(name) {
    document.documentElement.dataset.theme = name;
    try { localStorage.setItem("holdfast-theme", name); } catch { /* a page without storage */ }
  }
};
if (theme.chosen()) {
  document.documentElement.dataset.theme = theme.chosen();
}

/* The search: its index is made at the first question, from all sections of the guide. */
const search = {
  words: /[\s\-./(){}<>`,;:=*"'|]+/,
  index: null,

  load(then) {
    if (this.index) {
      then();
      return;
    }
    let waiting = 2;
    for (const name of ["lunr.min.js", "sections.js"]) {
      const script = document.createElement("script");
      script.src = siteRoot + "assets/" + name;
      script.onload = () => {
        if (--waiting === 0) {
          this.build();
          then();
        }
      };
      document.head.append(script);
    }
  },

  build() {
    lunr.tokenizer.separator = this.words;
    this.index = lunr(function () {
      this.ref("number");
      this.field("title", { boost: 6 });
      this.field("page", { boost: 2 });
      this.field("text");
      sections.forEach((section, number) => this.add({ number, ...section }));
    });
  },

  /* Whole words first, then their beginnings; every word must be met where any section has them all. */
  find(question) {
    const terms = question.toLowerCase().split(this.words).filter(term => term);
    const query = presence => this.index.query(q => {
      for (const term of terms) {
        q.term(lunr.stemmer(new lunr.Token(term)).toString(), { boost: 10, usePipeline: false });
        q.term(term, { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false, presence });
      }
    });
    if (terms.length === 0) {
      return [];
    }
    const all = query(lunr.Query.presence.REQUIRED);
    const hits = all.length > 0 ? all : query(lunr.Query.presence.OPTIONAL);
    return hits.slice(0, 20).map(hit => sections[hit.ref]);
  }
};

function show(question, found) {
  found.replaceChildren();
  for (const section of search.find(question)) {
    const link = document.createElement("a");
    link.href = siteRoot + section.href;
    link.textContent = section.title;
    const where = document.createElement("small");
    where.textContent = (section.title === section.page ? "" : section.page + ": ") + section.text.slice(0, 140);
    link.append(where);
    found.append(link);
  }
  if (!found.firstChild) {
    const nothing = document.createElement("p");
    nothing.textContent = "Nothing in the guide.";
    found.append(nothing);
  }
  const api = document.createElement("a");
  api.href = siteRoot + "javadoc/search.html?q=" + encodeURIComponent(question);
  api.textContent = "Look for “" + question + "” in the API";
  found.append(api);
  found.hidden = false;
}

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const name = () => { button.textContent = theme.dark() ? "Light" : "Dark"; };
  name();
  button.addEventListener("click", () => { theme.take(theme.dark() ? "light" : "dark"); name(); });

  const menu = document.getElementById("menu");
  menu.addEventListener("click", () => {
    const open = document.getElementById("pages").classList.toggle("open");
    menu.setAttribute("aria-expanded", String(open));
  });

  const form = document.getElementById("search");
  const input = form.elements.q;
  const found = document.getElementById("found");
  const ask = () => {
    const question = input.value.trim();
    if (question.length < 2) {
      found.hidden = true;
    } else {
      search.load(() => { if (input.value.trim() === question) { show(question, found); } });
    }
  };
  input.addEventListener("input", ask);
  input.addEventListener("focus", ask);
  form.addEventListener("submit", event => {
    event.preventDefault();
    const first = found.hidden ? null : found.querySelector("a");
    if (first) { location.href = first.href; }
  });
  document.addEventListener("click", event => { if (!form.contains(event.target)) { found.hidden = true; } });
  document.addEventListener("keydown", event => {
    if (event.key === "Escape") { found.hidden = true; }
    if (event.key === "/" && !/input|textarea/i.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
  });
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) { input.value = asked; ask(); }
});
