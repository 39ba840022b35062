"use strict";

/* The colours that were chosen in the guide, and the way back to it. */
try {
  const theme = localStorage.getItem("holdfast-theme");
  if (theme) { document.documentElement.dataset.theme = theme; }
} catch { /* a page without storage keeps the system's */ }

document.addEventListener("DOMContentLoaded", () => {
  for (const link of document.querySelectorAll("a.to-guide")) {
    link.href = pathtoroot + "../index.html";
  }
});
