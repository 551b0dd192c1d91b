#pragma once

namespace pacewise {

/// The slider of a series of pictures. All else in a page stands still.
inline constexpr char kPageScript[] = R"(
"use strict";
document.documentElement.classList.add("live");
document.querySelectorAll(".frames").forEach(set => {
  const slider = set.querySelector("input"), frames = set.querySelectorAll(".frame");
  if (!slider) return;
  const show = () => {
    frames.forEach((frame, k) => { frame.hidden = k !== Number(slider.value); });
    slider.setAttribute("aria-valuetext", frames[slider.value].querySelector(".caption").textContent);
  };
  slider.addEventListener("input", show);
  show();
});
)";

}  // namespace pacewise
