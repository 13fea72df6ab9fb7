/**
 * A rule such as `npm test` contains only the first words of a command. This file checks the words that follow them.
 * Most of these words are harmless. A few words would turn the command into another one. A rule that allows commands
 * does not match a command with such a word, for example:
 *
 *   npm test --script-shell=./x         runs another program
 *   git log --output=/home/ann/.bashrc  writes any file
 *   pytest ../other                     runs the code of another folder
 */
import type { Word } from './simple-command.ts';

/** Options of git that write a file, run a program or read files outside the repository. */
const GIT = /^--(?:out|ext-|textc|no-ind)/;
/** Options of cargo that name a program or another project, or write elsewhere. */
const CARGO = /^(?:--(?:conf|manifest|target-dir|out|artifact)|-[ZC])/;
/**
 * Options of the other programs that name a program, code, a configuration or a file to write. Only the start of each
 * name is listed, because npm and others accept a shortened name. These programs share one list, because a script may
 * pass its words on to any of them.
 */
const OTHERS =
  /^(?:--?(?:\w+[.-])*(?:out|sc|she|node-o|exec|eval|print|import|req|load|preload|plugin|run(?:ner|time)|boot|prepend|ext|conf|userc|glob|rc|use-|pref|cwd|dir|root|pack|proj|setup|env|trans|resol|report|format|preset|rule|pars|log|prop|P|test(?:-adapt|Env|Run|Res)|py|pdb|paste|over|ini|opt|cus|watchPlug|sett|experimental)|-[CIOPRZcdeflnopr])/;
/** A word that names a file outside the workspace, or an option with such a value. */
const OUTSIDE = /(?:^|=)[/~]|(?:^|[/=])\.\.(?:\/|$)/;
/**
 * A word with a pattern for file names. It does not start with a hyphen or a wildcard, so the shell cannot expand it to
 * an option.
 */
const GLOB = /^[\w./@][\w./@:+*?[\]-]*$/;

/** Returns whether a rule for the first words of this program also matches these further words. */
export function areHarmless(program: string, further: readonly Word[]): boolean {
  const isGit = program === 'git';
  const options = isGit ? GIT : program === 'cargo' ? CARGO : OTHERS;
  // After `--`, git reads only paths. Other programs, such as scripts, may read options there.
  const end = isGit ? further.findIndex(({ text }) => text === '--') : -1;
  return (
    !further.some(({ text, literal }) => literal && OUTSIDE.test(text)) &&
    (end < 0 ? further : further.slice(0, end)).every(({ text, literal }) =>
      literal ? !options.test(text) : GLOB.test(text),
    )
  );
}
