// Light or dark colours: the system's setting unless the user chose. Runs before the page is drawn.
(function () {
  "use strict";
  var root = document.documentElement;
  try {
    var kept = localStorage.getItem("bursar-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch (error) { /* storage is disabled */ }
  function isDark() {
    if (root.dataset.theme) return root.dataset.theme === "dark";
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }
  document.addEventListener("DOMContentLoaded", function () {
    var button = document.getElementById("theme");
    function label() { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", "Switch to " + (isDark() ? "light" : "dark") + " colours"); }
    label();
    button.hidden = false;
    button.addEventListener("click", function () {
      root.dataset.theme = isDark() ? "light" : "dark";
      try { localStorage.setItem("bursar-theme", root.dataset.theme); } catch (error) { /* storage is disabled */ }
      label();
      document.dispatchEvent(new Event("bursar:theme"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
      label();
      document.dispatchEvent(new Event("bursar:theme"));
    });
  });
})();
