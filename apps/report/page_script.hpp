#pragma once

namespace pacewise {

/// What moves in a page: sorting, sliders, and what dots and pictures tell when pointed at.
inline constexpr char kPageScript[] = R"(
"use strict";
(function () {
  const all = (what, where) => Array.from((where || document).querySelectorAll(what));
  document.documentElement.classList.add("live");

  // tables: what a cell begins with, as a number; null for "-" and nothing; NaN for text
  const lead = /^[-+\u2212]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|^[-+]?inf/;
  function number(text) {
    text = text.trim();
    if (text === "" || text === "-") return null;
    const found = lead.exec(text);
    if (!found) return NaN;
    const plain = found[0].replace("\u2212", "-");
    return plain.endsWith("inf") ? (plain[0] === "-" ? -Infinity : Infinity) : Number(plain);
  }
  function sort(table, column, sign) {
    const rows = Array.from(table.tBodies[0].rows);
    const text = row => row.cells[column] ? row.cells[column].textContent : "";
    const keys = new Map(rows.map(row => [row, number(text(row))]));
    const numbers = rows.every(row => !Number.isNaN(keys.get(row)));
    rows.sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (x === null || y === null) return (x === null) - (y === null);
      if (!numbers) return sign * text(a).localeCompare(text(b), undefined, {numeric: true});
      return x === y ? 0 : sign * (x < y ? -1 : 1);
    });
    table.tBodies[0].append(...rows);
  }
  all("table.sort").forEach(table => {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = document.createElement("span");  // a <button> would keep the head off all pages but the first
      button.setAttribute("role", "button");
      button.tabIndex = 0;
      button.append(...head.childNodes);
      head.append(button);
      const click = () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach(h => h.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(table, column, up ? 1 : -1);
      };
      button.addEventListener("click", click);
      button.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        click();
      });
    });
  });

  all(".frames").forEach(set => {
    const slider = set.querySelector("input"), frames = all(".frame", set);
    if (!slider) return;
    const show = () => {
      frames.forEach((frame, k) => { frame.hidden = k !== Number(slider.value); });
      slider.setAttribute("aria-valuetext", frames[slider.value].querySelector(".caption").textContent);
    };
    slider.addEventListener("input", show);
    show();
  });

  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  let marked = null;
  function tell(text, x, y, dot) {
    if (marked && marked !== dot) marked.classList.remove("at");
    marked = dot || null;
    if (marked) marked.classList.add("at");
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const wide = tip.offsetWidth, high = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(x + 12, document.documentElement.clientWidth - wide - 4)) + "px";
    tip.style.top = (y - high - 10 > 0 ? y - high - 10 : y + 18) + "px";
  }
  function listen(target, read) {
    ["pointermove", "pointerdown"].forEach(kind => target.addEventListener(kind, event => read(event)));
    target.addEventListener("pointerleave", event => { if (event.pointerType !== "touch") tell(""); });
  }
  // after a tap it stays until the next one elsewhere
  addEventListener("pointerdown", event => { if (!event.target.closest(".chart, img")) tell(""); });
  addEventListener("scroll", () => tell(""), {passive: true});

  all(".chart > svg").forEach(svg => {
    const dots = all(".dot", svg).map(dot => {
      const title = dot.querySelector("title"), text = title.textContent;
      title.remove();  // else the browser shows it a second time
      return {dot, text};
    });
    listen(svg, event => {
      let best = null, least = 24;
      dots.forEach(d => {
        const box = d.dot.getBoundingClientRect();
        const gap = Math.hypot(box.left + box.width / 2 - event.clientX, box.top + box.height / 2 - event.clientY);
        if (gap < least) { least = gap; best = d; }
      });
      tell(best ? best.text : "", event.clientX, event.clientY, best && best.dot);
    });
  });

  // pictures of tiles: the tile's name, and the value where grey stands for one (128 is kept for "no value")
  all("img[data-tiles]").forEach(image => {
    const t = JSON.parse(image.dataset.tiles);
    let grey = null;
    listen(image, event => {
      if (!grey) {
        const canvas = document.createElement("canvas");
        canvas.width = image.naturalWidth;
        canvas.height = image.naturalHeight;
        const paint = canvas.getContext("2d");
        paint.drawImage(image, 0, 0);
        grey = paint.getImageData(0, 0, canvas.width, canvas.height);
      }
      const x = Math.floor(event.offsetX * grey.width / image.clientWidth) - t.gap;
      const y = Math.floor(event.offsetY * grey.height / image.clientHeight) - t.gap;
      const i = Math.floor(y / (t.rows + t.gap)), j = Math.floor(x / (t.columns + t.gap));
      const row = y - i * (t.rows + t.gap), column = x - j * (t.columns + t.gap);
      const name = t.names[i * t.across + j];
      if (x < 0 || y < 0 || j >= t.across || row >= t.rows || column >= t.columns || !name) { tell(""); return; }
      let text = name;
      if (t.low !== null) {
        const shade = grey.data[4 * ((y + t.gap) * grey.width + x + t.gap)];
        text += t.strip ? ", feature " + column : ", row " + row + ", column " + column;
        const value = (t.low + shade / 255 * (t.high - t.low)).toFixed(2);
        text += ": " + (shade === 128 ? "no value" : value === "-0.00" ? "0.00" : value);
      }
      tell(text, event.clientX, event.clientY);
    });
  });
})();
)";

}  // namespace pacewise
