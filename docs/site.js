// Names and keyboard access that the theme leaves out.
function complete() {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((buttons, index) => {
    buttons.setAttribute("aria-label", `Code block ${index + 1}`);
  });
  document.querySelectorAll(".md-nav[aria-label] .md-nav[aria-label]:not([data-named])").forEach((nav) => {
    const outer = nav.parentElement.closest(".md-nav[aria-label]");  // a class may have the name of its section
    nav.setAttribute("aria-label", `${outer.getAttribute("aria-label")}: ${nav.getAttribute("aria-label")}`);
    nav.dataset.named = "";
  });
  document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code").forEach((box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  });
}
complete();
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", complete);
