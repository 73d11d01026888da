import { render } from "preact";

import { App } from "./view/app.js";

const place = document.getElementById("app");
if (place !== null) {
  place.textContent = "";
  render(<App />, place);
}
