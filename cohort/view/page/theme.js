// Sets the theme before the first paint: the one that was chosen here before, or else the system's.
{
  const saved = (() => {
    try {
      return localStorage.getItem("cohort-theme");
    } catch {
      return null; // storage is off
    }
  })();
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (theme) => (document.documentElement.dataset.theme = theme);
  apply(saved ?? (system.matches ? "dark" : "light"));
  system.addEventListener("change", () => {
    if (saved === null && !window.cohortThemeWasChosen) {
      apply(system.matches ? "dark" : "light");
      window.dispatchEvent(new Event("cohort-theme"));
    }
  });
}
