/* Pictures are light or dark like the page, also if its reader has switched it to other colours than the system's. */
const follow = () => {
  const dark = document.body.dataset.mdColorScheme === "slate";
  for (const source of document.querySelectorAll("picture source")) source.media = dark ? "all" : "not all";
};
new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
follow();
