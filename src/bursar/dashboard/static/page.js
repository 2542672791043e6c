// Enhancements: more rows for arms, a bill read from a file. All pages work without them.
(function () {
  "use strict";
  var more = document.getElementById("more-arms"), rows = document.getElementById("arm-rows");
  if (more && rows) {
    more.addEventListener("click", function (event) {
      event.preventDefault();
      var count = document.querySelector("input[name=rows]"), number = Number(count.value);
      var row = rows.lastElementChild.cloneNode(true), last = number - 1;
      row.querySelectorAll(".error").forEach(function (one) { one.remove(); });
      row.querySelectorAll("input").forEach(function (one) {
        one.value = "";
        one.id = one.id.replace(last, number);
        one.name = one.name.replace(last, number);
        one.removeAttribute("aria-invalid"); one.removeAttribute("aria-describedby");
        one.closest(".field").classList.remove("wrong");
      });
      row.querySelectorAll("label").forEach(function (one) {
        one.htmlFor = one.htmlFor.replace(last, number);
        one.innerHTML = one.innerHTML.replace(String(last + 1), String(number + 1));
      });
      rows.appendChild(row);
      count.value = number + 1;
      row.querySelector("input").focus();
    });
  }
  var file = document.getElementById("bill-file");
  if (file) {
    document.getElementById("bill-upload").hidden = false;
    file.addEventListener("change", function () {
      if (file.files.length) file.files[0].text().then(function (text) { document.getElementById("bill-text").value = text; });
    });
  }
})();
