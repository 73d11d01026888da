// The C++ and C files of this repository.
import { filesBelow } from "./project.mjs";

const isSource = (file) => /\.(c|cc|cpp|h|hpp)$/.test(file);

export const nativeFiles = () => filesBelow("native").filter(isSource);
export const nativeHeaders = () => nativeFiles().filter((file) => /\.(h|hpp)$/.test(file));
