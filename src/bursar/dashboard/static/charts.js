// The two charts of a campaign: money over time, and asks by arm. All amounts come from the server.
(function () {
  "use strict";
  var COLOURS = 7, figures = document.querySelectorAll("[data-chart]"), plots = [], data = null, busy = false, again = false;
  if (!figures.length || !window.uPlot) return;

  function token(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function clear(colour, alpha) {
    return "rgba(" + parseInt(colour.slice(1, 3), 16) + "," + parseInt(colour.slice(3, 5), 16) + "," + parseInt(colour.slice(5, 7), 16) + "," + alpha + ")";
  }
  function amount(value) {
    if (value === null || value === undefined) return "–";
    return value.toLocaleString("en", { maximumFractionDigits: value >= 1000 ? 2 : 6 }) + (data.currency ? " " + data.currency : "");
  }
  function axis(more) {
    return Object.assign({ stroke: token("--soft"), font: "12px system-ui, sans-serif", grid: { stroke: token("--line"), width: 1 }, ticks: { stroke: token("--line"), width: 1, size: 4 } }, more);
  }
  function clock(plot, splits) { // UTC, 24 hours, as on all pages
    var span = splits.length > 1 ? splits[splits.length - 1] - splits[0] : 0;
    return splits.map(function (at) {
      var iso = new Date(at * 1000).toISOString();
      if (span >= 4 * 86400) return iso.slice(5, 10);
      if (span >= 86400) return iso.slice(5, 10) + "\n" + iso.slice(11, 16);
      return span >= 300 ? iso.slice(11, 16) : iso.slice(11, 19);
    });
  }
  function when(plot, at) { return at === null ? "–" : new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ") + " UTC"; }
  function box(holder, series, axes, bands, scales) {
    return {
      width: Math.max(holder.clientWidth, 240), height: 260, padding: [10, 26, 0, 0], series: series, axes: axes, bands: bands || [], scales: scales,
      tzDate: function (at) { return uPlot.tzDate(new Date(at * 1000), "Etc/UTC"); },
      cursor: { y: false, points: { size: 6 } }, legend: { live: true }, hooks: { setCursor: [rest] },
    };
  }
  // without a pointer over the chart, the legend shows the newest values
  function rest(plot) { if (plot.cursor.idx === null || plot.cursor.left < 0) plot.setLegend({ idx: plot.data[0].length - 1 }, false); }
  function numbers(column) { return column.map(Number); }

  function spend(holder) {
    var spent = numbers(data.spent), held = numbers(data.held), budget = numbers(data.budget), t = data.t.slice();
    var both = spent.map(function (one, n) { return Math.max(one + held[n], 0); }), most = numbers(data.high);
    if (t.length === 1) [t, spent, both, most, budget].forEach(function (one, n) { one.push(one[0] + (n ? 0 : 1)); });
    var step = uPlot.paths.stepped({ align: 1 }), ours = token("--ours"), warm = token("--held");
    return new uPlot(box(holder, [
      { label: "Time", value: when },
      { label: "Budget", stroke: token("--ink"), width: 2, dash: [6, 4], paths: step, points: { show: false }, value: function (u, v) { return amount(v); } },
      // the curve shows the maximum within each bucket, the legend the value at its end
      { label: "Spent + held", stroke: warm, width: 1.5, paths: step, points: { show: false }, value: function (u, v, s, n) { return amount(n === null || n === undefined ? null : both[n]); } },
      { label: "Spent", stroke: ours, width: 2, fill: clear(ours, 0.3), paths: step, points: { show: false }, value: function (u, v) { return amount(v); } },
    ], [axis({ values: clock, space: 76, size: 34 }), axis({ size: 64, values: function (u, splits) { return splits.map(function (v) { return v.toLocaleString("en", { maximumSignificantDigits: 4 }); }); } })],
    [{ series: [2, 3], fill: clear(warm, 0.35) }], { y: { range: function (u, low, high) { return [0, Math.max(high || 0, 1e-9) * 1.05]; } } }), [t, budget, most.map(function (one, n) { return Math.max(one, both[n]); }), spent], holder);
  }

  function share(holder) {
    var keys = Object.keys(data.arms), total = {};
    keys.forEach(function (key) { total[key] = data.arms[key].reduce(function (a, b) { return a + b; }, 0); });
    var named = keys.slice();
    if (keys.length > COLOURS) {
      named.sort(function (a, b) { return total[b] - total[a]; });
      named = named.slice(0, COLOURS - 1);
      named = keys.filter(function (key) { return named.indexOf(key) >= 0; });
    }
    // groups with equal numbers of asks, so that the shares are comparable
    var asks = data.t.map(function (_, n) { return keys.reduce(function (sum, key) { return sum + data.arms[key][n]; }, data.others[n]); });
    var all = asks.reduce(function (a, b) { return a + b; }, 0);
    if (!all) return null;
    var each = Math.max(all / Math.min(40, Math.max(all / 25, 1)), 1), t = [], shares = named.map(function () { return []; }), sums = named.map(function () { return 0; }), seen = 0, first = null;
    asks.forEach(function (count, n) {
      named.forEach(function (key, k) { sums[k] += data.arms[key][n]; });
      seen += count;
      if (first === null && count) first = data.start[n];
      if (seen >= each || (n === asks.length - 1 && seen)) {
        t.push(data.t[n]);
        sums.forEach(function (one, k) { shares[k].push(one / seen); });
        sums = sums.map(function () { return 0; });
        seen = 0;
      }
    });
    if (first < t[0]) { t.unshift(first); shares.forEach(function (one) { one.unshift(one[0]); }); }
    if (t.length === 1) { t.push(t[0] + 1); shares.forEach(function (one) { one.push(one[0]); }); }
    var stacked = [], before = t.map(function () { return 0; });
    shares.forEach(function (one) { before = before.map(function (base, n) { return base + one[n]; }); stacked.push(before); });
    var rest = keys.length > named.length || data.others.some(Boolean);
    if (rest) { stacked.push(t.map(function () { return 1; })); shares.push(before.map(function (one) { return 1 - one; })); }
    var names = rest ? named.concat(["others"]) : named;
    // the highest area first: the next one is drawn over it
    var order = names.map(function (_, k) { return names.length - 1 - k; }), ground = token("--card");
    var series = [{ label: "Time", value: when }].concat(order.map(function (k) {
      var colour = k === COLOURS - 1 || names[k] === "others" ? token("--other") : token("--arm-" + k);
      return { label: names[k], stroke: ground, width: 1, fill: colour, points: { show: false },
        value: function (u, v, s, n) { return n === null || n === undefined ? "–" : (100 * shares[k][n]).toFixed(1) + "%"; } };
    }));
    return new uPlot(box(holder, series, [axis({ values: clock, space: 76, size: 34 }), axis({ size: 48, values: function (u, splits) { return splits.map(function (v) { return Math.round(100 * v) + "%"; }); } })],
      [], { y: { range: [0, 1] } }), [t].concat(order.map(function (k) { return stacked[k]; })), holder);
  }

  function draw() {
    if (!data) return;
    plots.forEach(function (one) { one.destroy(); });
    plots = [];
    figures.forEach(function (figure) {
      var holder = figure.querySelector(".plot");
      holder.textContent = "";
      var plot = data.asks.length && data.asks[data.asks.length - 1] ? (figure.dataset.chart === "spend" ? spend : share)(holder) : null;
      if (plot) { plots.push(plot); mark(plot); rest(plot); }
      else { var p = document.createElement("p"); p.className = "soft loading"; p.textContent = "There are no decisions yet."; holder.appendChild(p); }
    });
  }
  // areas have no visible line, so the legend shows their fill
  function mark(plot) {
    plot.root.querySelectorAll(".u-series").forEach(function (row, n) {
      var one = plot.series[n], dot = row.querySelector(".u-marker");
      if (!n || !dot) return;
      dot.style.background = typeof one._fill === "function" ? one._fill(plot, n) : one._fill || "transparent";
      if (one.fill) dot.style.background = one.fill(plot, n);
    });
  }
  function load() {
    if (busy) { again = true; return; }
    busy = true;
    fetch(figures[0].dataset.source, { headers: { accept: "application/json" } }).then(function (answer) {
      if (!answer.ok) throw new Error(answer.status);
      return answer.json();
    }).then(function (found) {
      if (!data || data.seq !== found.seq) { data = found; draw(); }
    }).catch(function () {
      if (!data) figures.forEach(function (one) { one.querySelector(".plot").innerHTML = "<p class='soft loading'>The chart could not be loaded. The numbers are below.</p>"; });
    }).finally(function () { busy = false; if (again) { again = false; setTimeout(load, 500); } });
  }
  var timer = null;
  window.addEventListener("resize", function () { clearTimeout(timer); timer = setTimeout(draw, 150); });
  document.addEventListener("bursar:theme", draw);
  document.addEventListener("bursar:news", load);
  load();
})();
