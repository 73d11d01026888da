/** vim and its relatives: commands in options and in the input that run a program or other code. */

import type { CommandWrapper } from "../call.js";
import { optionReader } from "../options.js";
import type { ShellWord } from "../script/word.js";
import { inlineCode, inputText } from "./effects.js";

/** The names that it is started by. */
export const kVimNames =
  "vim vi view ex nvim vimdiff nvimdiff rvim rview gvim gview gvimdiff evim eview nvi vimx mvim " +
  "vim.basic vim.tiny vim.nox vim.gtk3 vim.athena vim.motif";

/** Returns the pattern of a command's name with all its abbreviations: `mak|e`. */
function abbreviated(name: string): string {
  const [least = "", rest = ""] = name.split("|");
  return least + [...rest].reduceRight((after, letter) => `(?:${letter}${after})?`, "");
}

function patternOf(names: string): string {
  return `(?:${names.split(" ").map(abbreviated).join("|")})`;
}

/** Commands that run a program or a script, and are no other words. */
const kRunners = patternOf(
  "ter|minal mak|e lmak|e gr|ep lgr|ep grepa|dd lgrepa|dd sou|rce so exe|cute cal|l packadd " +
    "packl|oadall py|thon py3 python3 pyx pythonx py3do pyxdo pyd|o pyf|ile py3f|ile pyxf|ile lua " +
    "luad|o luaf|ile perl perld|o ruby rubyd|o rubyf|ile tcl tcld|o tclf|ile mz|scheme mzf|ile " +
    "cscope scscope lcscope",
);
/** Those that are also other words, such as a file type. */
const kShortRunners = patternOf("sh|ell ru|ntime pe|rl rub|y cs lcs scs lo|adview pa so|urce");
/** Commands that take names of files, in which backquotes run a program. */
const kFiles = patternOf(
  "e|dit ar|gs arga|dd arge|dit n|ext r|ead sp|lit vs|plit new vne|w tabe|dit tabnew fin|d sf|ind vie|w sv|iew " +
    "cd lc|d w|rite sav|eas fil|e badd ped|it dr|op",
);

const kFunctions =
  /\b(?:system(?:list)?|job_?start|term_?start|termopen|libcall(?:nr)?|(?:lua|py|pyx|py3|perl|ruby|mz)eval|feedkeys|(?:win_)?execute|function|funcref|call|eval|remote_\w+|server2client|nvim_\w+)\s*\(|\bv:lua\b/;
/** Options that name a program, a library to load, or where scripts are. */
const kOptions = new RegExp(
  `(?:^|[\\s&:])(?:${(
    "sh shell shcf shellcmdflag shq shellquote sxq shellxquote sxe shellxescape sp shellpipe srr " +
      "shellredir mp makeprg gp grepprg kp keywordprg ep equalprg fp formatprg csprg cscopeprg luadll " +
      "perldll pythondll pythonthreedll pythonhome pythonthreehome rubydll tcldll mzschemedll " +
      "mzschemegcdll rtp runtimepath pp packpath"
  ).replaceAll(" ", "|")})\\s*[-+^.]*[=:]`,
);
const kBackquotes = /\b(?:expand|glob|globpath|readfile)\s*\([^)\n]{0,256}`/;

/** Words that may precede a command, or the lines that it is for. */
const kBefore = new RegExp(
  "^(?:[\\s:]+|[\\d.,;$%*'<>+-]+|/[^/]*/|\\?[^?]*\\?|" +
    "(?:g(?:lobal)?|v(?:global)?)!?\\s*/[^/]*/|" +
    "(?:sil(?:ent)?|keep\\w+|lockm\\w*|noa\\w*|uns\\w*|verb\\w*|vert\\w*|tab|bot\\w*|top\\w*|abo\\w*|" +
    "(?:arg|buf|c|cf|fold|l|lf|tab|win)do(?:o\\w+|c\\w+)?)(?=[\\s!:])!?)",
);
/** More of them do not occur. */
const kMostBefore = 32;
/** Commands that keep a command for later. */
const kKeepers = /^(?:au|autocmd|com|command|[nvxsoilct]?(?:nore)?(?:map|nm|nn)\w*|nn|vn|ino)\b/;
const kShell = "!|r(?:e|ea|ead)?\\s*!|w(?:r|ri|rit|rite)?!?\\s+!|norm\\w*!?\\s.*[:!]";
const kCommand = new RegExp(
  `^(?:${kShell}|(?:${kRunners}|${kShortRunners})(?![\\w=])|${kFiles}!?\\s.*\`)`,
  "s",
);
const kAnywhere = new RegExp(`\\b${kRunners}\\b`);
/** A bang that only makes a command go on in spite of a warning. */
const kForce =
  /\b(?:q|quit|qa|qall|wq|wqa|wqall|x|xit|xa|xall|w|write|wa|wall|up|update|e|edit|ene|enew|bd|bdelete|bw|norm|normal|sil|silent|fu|function|com|command|au|autocmd|sort|k?map|nn|ino|vno)!(?=\s|$|\|)/g;
const kFileType = /\b(?:ft|filetype|syn|syntax)[= ]\w+/g;

function runsAlways(text: string): boolean {
  return kFunctions.test(text) || kOptions.test(text) || kBackquotes.test(text);
}

/** True if a command runs a program; the text has no other command before it. */
function begins(text: string): boolean {
  let rest = text;
  for (let count = 0; count < kMostBefore; count++) {
    const [before = ""] = kBefore.exec(rest) ?? [];
    if (before === "") break;
    rest = rest.slice(before.length);
  }
  if (kKeepers.test(rest)) return rest.includes("!") || kAnywhere.test(rest);
  return kCommand.test(rest);
}

/** True if one of the commands of a line may run a program. */
function lineRuns(line: string): boolean {
  return begins(line) || (line.includes("|") && line.split("|").some(begins));
}

/** True if a command given by an option may run a program: any bang that is no force counts. */
function commandRuns(given: string): boolean {
  const text = given.replace(kFileType, "").replace(kForce, "");
  if (text.includes("!") || kAnywhere.test(text) || runsAlways(text)) return true;
  return text.split("\n").some(lineRuns);
}

const kInserts = /^[\s:]*[\d.,$]*(?:a|ap\w*|i|in\w*|c|ch\w*)!?$/;
/** Conditions and functions, which may skip what looks like an insertion. */
const kScript = /^[\s:]*(?:if|wh\w*|for|fu\w*|try|def|let\b.*<<)\b|<</m;

/** True if the input of an editor may run a program: commands begin their lines, inserted text does not. */
function inputRuns(input: string): boolean {
  if (runsAlways(input)) return true;
  const inserts = !kScript.test(input);
  let inserted = false;
  return input.split("\n").some((line) => {
    if (inserted) inserted = line !== ".";
    else if (inserts && kInserts.test(line)) inserted = true;
    else return lineRuns(line);
    return false;
  });
}

const kCommands = optionReader(["c", "cmd", "remote-send", "remote-expr"]);

export const vim: CommandWrapper = (call) => {
  const { words, name } = call;
  const commands = kCommands(words);
  const plus = words.slice(1).filter(({ text }) => text.startsWith("+"));
  const bad = ({ text, literal }: ShellWord, runs: (text: string) => boolean) =>
    !literal || runs(text);
  const given = [...commands, ...plus].find((word) =>
    bad(word, (text) => commandRuns(unplussed(text))),
  );
  if (given) return [inlineCode(given)];
  // `vim -` reads the file from its input, `ex -` its commands.
  const ex = name === "ex" || words.some(({ text }) => /^-[a-zA-Z]*[eE]/.test(text));
  if (!ex && words.some(({ text }) => text === "-")) return [];
  const read = inputText(call);
  const texts = [...(typeof read === "object" ? [read] : []), ...call.piped()];
  const input = texts.find((word) => bad(word, inputRuns));
  return input ? [inlineCode(input)] : [];
};

function unplussed(text: string): string {
  return text.startsWith("+") ? text.slice(1) : text;
}
