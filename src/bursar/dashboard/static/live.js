// Keeps a page up to date: after a notice from the server, one request fetches the live parts.
// If the stream breaks, the page says so, refreshes every 5 seconds and reconnects by itself.
(function () {
  "use strict";
  var line = document.getElementById("connection");
  if (!line || !window.EventSource) return;
  var source = null, retry = null, poll = null, wait = 1000, failures = 0;

  function say(text, tone) {
    if (line.textContent !== text) line.textContent = text;
    line.className = tone;
  }
  function news() { htmx.trigger(document.body, "news"); document.dispatchEvent(new Event("bursar:news")); }
  // check that the server is up before fetching, so that the console is not flooded with errors
  function ask() { fetch("/healthz").then(function (answer) { if (answer.ok && poll) news(); }, function () {}); }
  function polling(on) {
    document.body.classList.toggle("stale", on);
    if (on && !poll) poll = setInterval(ask, 5000);
    if (!on && poll) { clearInterval(poll); poll = null; }
  }
  function open() {
    close();
    source = new EventSource(line.dataset.stream);
    source.addEventListener("open", function () {
      if (failures) news();
      failures = 0; wait = 1000;
      polling(false);
      say("Live", "good");
    });
    source.addEventListener("news", news);
    source.addEventListener("error", function () {
      failures += 1;
      close();
      polling(true);
      say("Connection lost, reconnecting", "bad");
      retry = setTimeout(open, wait);
      wait = Math.min(wait * 2, 5000);
    });
  }
  function close() {
    clearTimeout(retry);
    if (source) { source.close(); source = null; }
  }
  // browsers allow few connections per server, so pages in the background close theirs
  document.addEventListener("visibilitychange", function () {
    if (document.hidden) { close(); polling(false); say("Paused in the background", "soft"); }
    else { news(); open(); }
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", function (event) { if (event.persisted) open(); });

  document.body.addEventListener("htmx:afterRequest", function (event) {
    if (event.detail.elt.getAttribute("hx-swap") !== "none") return;
    if (event.detail.xhr.status === 401) { close(); polling(false); say("Signed out, sign in again", "bad"); }
    else if (event.detail.successful && poll) say("Connection lost, refreshing every 5 seconds", "warning");
  });
  // do not replace a part in which the user has ticked, opened or focused something
  document.body.addEventListener("htmx:oobBeforeSwap", function (event) {
    var target = event.detail.target;
    if (!target) return;
    var busy = target.querySelector("input:checked, details[open]") ||
      (target.contains(document.activeElement) && document.activeElement.matches("input:not([type=hidden]), select, textarea"));
    if (target.matches("details[open]")) busy = true;
    if (busy) event.detail.shouldSwap = false;
  });
  // keep the scroll position of wide tables
  var places = {};
  document.body.addEventListener("htmx:oobBeforeSwap", function (event) {
    var target = event.detail.target;
    if (!target || !target.id) return;
    var scrolls = target.querySelectorAll(".scroll");
    places[target.id] = Array.prototype.map.call(scrolls, function (one) { return one.scrollLeft; });
  });
  document.body.addEventListener("htmx:oobAfterSwap", function (event) {
    var now = document.getElementById(event.detail.target.id);
    if (!now || !places[now.id]) return;
    now.querySelectorAll(".scroll").forEach(function (one, number) { one.scrollLeft = places[now.id][number] || 0; });
  });
  setInterval(function () { if (!document.hidden && source) news(); }, 30000); // relative times such as "2 minutes ago" need a refresh
  open();
})();
