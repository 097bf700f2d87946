// Opens the target of a link if it is folded away.
(() => {
  "use strict";

  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.localName === "details") at.open = true;
    target?.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
})();
