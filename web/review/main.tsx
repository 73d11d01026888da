import { render } from "preact";

import { Page } from "./view/page.js";

const place = document.getElementById("app");
if (place !== null) {
  place.textContent = "";
  render(<Page />, place);
}
