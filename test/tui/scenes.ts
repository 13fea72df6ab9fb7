/**
 * The states of the terminal UI that are kept as pictures: as text in screens/ (compared by screens.test.ts) and, at
 * 100×30, as SVG in docs/images/ (made by scripts/screenshots.ts).
 */
import type { Terminal } from './terminal.ts';

export interface Scene {
  /** The arguments of run.ts. */
  readonly args: readonly string[];
  /** The command that a person would have typed. */
  readonly title: string;
  /** Drives the UI to the state that the picture shows. */
  readonly drive: (terminal: Terminal) => Promise<unknown>;
}

export const RUN = 'test/tui/run.ts';
const ENTER = '\r';
const SHARED = ['--model', 'google:gemini-3-pro', '--a2a-port', '1234'];
const HOST = 'parley --a2a-port 1234';

/** A scene that plays `demo` (demo.ts) when the prompt is sent, and then waits for the pattern. */
function played(
  demo: string,
  prompt: string,
  pattern: RegExp,
  more: readonly string[] = [],
): Scene {
  return {
    args: [...SHARED, ...more, '--play', demo],
    title: HOST,
    async drive({ sees, type }) {
      await sees(/ A2A /);
      type(`${prompt}${ENTER}`);
      await sees(pattern);
    },
  };
}

export const SCENES: Readonly<Record<string, Scene>> = {
  idle: { args: SHARED, title: HOST, drive: ({ sees }) => sees(/google/) },
  working: played('begin', 'Do the tests pass?', /The first tests pass/),
  diff: played('edit', 'Make the server listen on loopback only', /❯ \d (?:Allow|Reject)/, [
    '--phone',
  ]),
  'long-diff': played('request long-edit', 'Rename the function', /❯ 4 Reject/),
  command: played('request command', 'Say that all is well', /❯ 3 Reject/),
  mcp: played('request mcp', 'Report the bug', /❯ \d (?:Allow|Reject)/),
  question: played('request question', 'Choose a default', /❯ 1 127/),
  draft: {
    args: [...SHARED, '--play', 'later edit'],
    title: HOST,
    async drive({ sees, type, signal }) {
      await sees(/ A2A /);
      type(`Make the server listen on loopback only${ENTER}`);
      await sees(/Working/);
      type('and add a test');
      await sees(/❯ and add a test/);
      signal('SIGUSR2');
      await sees(/to answer/);
    },
  },
  rejected: {
    args: [...SHARED, '--play', 'request edit'],
    title: HOST,
    async drive({ sees, type }) {
      await sees(/ A2A /);
      type(`Make the server listen on loopback only${ENTER}`);
      await sees(/❯ \d (?:Allow|Reject)/);
      type('\t');
      await sees(/Type a reason/);
      type('Not now, please');
      await sees(/❯ Not now, please/);
      type(ENTER);
      await sees(/⊘ Edit/);
    },
  },
  thinking: played('think', 'Where does the server listen?', /Loopback is the safe default/),
  table: played('table', 'How long are the files?', /1204[^]*Ask for/),
  pasted: {
    args: SHARED,
    title: HOST,
    async drive({ sees, type }) {
      await sees(/ A2A /);
      const lines = Array.from({ length: 200 }, (_, n) => `line ${n}`).join('\r');
      type(`What fails here? \u001b[200~${lines}\u001b[201~`);
      await sees(/\[Pasted 200 lines\]/);
    },
  },
  'own-command': {
    args: SHARED,
    title: HOST,
    async drive({ sees, type }) {
      await sees(/ A2A /);
      type(`!npm test${ENTER}`);
      await sees(/✓ ! npm test/);
      type(`!wait for it${ENTER}`);
      await sees(/Esc stops it[^]*line 12/);
    },
  },
  unknown: {
    args: SHARED,
    title: HOST,
    async drive({ sees, type }) {
      await sees(/ A2A /);
      type(`/restor now${ENTER}`);
      await sees(/mean\s+\/restore/);
    },
  },
  restore: {
    args: SHARED,
    title: HOST,
    async drive({ sees, type }) {
      await sees(/ A2A /);
      type(`/restore${ENTER}`);
      await sees(/\(c2\)/);
      type('\u001b[B');
      await sees(/❯ before: Run[^]*\(c1\)/);
    },
  },
  mode: {
    args: SHARED,
    title: HOST,
    async drive({ sees, type }) {
      // The key has no effect before the session is open, and the mode is shown from then on.
      await sees(/ ask\b/);
      type('\u001b[Z');
      await sees(/⚠ auto-edit/);
      await sees(/You said: \/approval auto-edit/);
    },
  },
  failed: played('fail', 'Where does the server listen?', /✗ /),
  retry: played('later edit', 'Where does the server listen?', /Retrying in/, ['--trouble']),
  attached: {
    args: ['--model', 'google:gemini-3-pro', '--attached-to', 'http://127.0.0.1:1234'],
    title: 'parley attach http://127.0.0.1:1234',
    drive: ({ sees }) => sees(/preview/),
  },
};
