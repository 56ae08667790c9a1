// Before the first paint, and therefore no module: the theme that was chosen here, if it was not left to the system.
{
  const chosen = localStorage.getItem("treadle-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
