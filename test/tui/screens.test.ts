// The screens of the terminal UI, compared with the texts in screens/. After a wanted change, look at the new screens:
//   UPDATE_SCREENS=1 node … --test test/tui/screens.test.ts; git diff test/tui/screens
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { RUN, SCENES } from './scenes.ts';
import { openTerminal } from './terminal.ts';

const FOLDER = path.join(import.meta.dirname, 'screens');
const SIZES = [
  [100, 30],
  [60, 20],
  [46, 16],
] as const;

/** How long a new screen must stay as it is before it is stored. */
const SETTLED_MS = 500;

/** The screen without what differs from run to run: the spinner, the seconds, and blank rows at the top. */
function still(screen: string): string {
  const text = screen
    .replace(/^\n+/, '')
    .replaceAll(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠋')
    .replaceAll(/\b\d+s\b/g, '0s');
  return `${text}\n`;
}

const CTRL_C = '\u0003';

// One program shows all scenes of a size, one after the other.
describe('the screens are as they were reviewed', { concurrency: true }, () => {
  for (const [columns, rows] of SIZES) {
    const size = `${columns}x${rows}`;
    test(`at ${size}`, async (t) => {
      const scenes = Object.entries(SCENES);
      const args = scenes.flatMap(([, scene], at) => [
        ...(at > 0 ? ['--next'] : []),
        ...scene.args,
      ]);
      const terminal = openTerminal(RUN, args, { columns, rows });
      t.after(() => terminal.close());
      for (const [at, [name, scene]] of scenes.entries()) {
        const ends = terminal.raw().split('left: left').length;
        await terminal.readsKeys(at + 1);
        await scene.drive(terminal);
        const file = path.join(FOLDER, `${name}-${size}.txt`);
        if (process.env['UPDATE_SCREENS'] === '1') {
          await mkdir(FOLDER, { recursive: true });
          await sleep(SETTLED_MS);
          await writeFile(file, still(terminal.visible()));
        }
        const known = await readFile(file, 'utf8');
        // Several frames may be drawn one after the other: the last one counts.
        await terminal
          .until(name, () => still(terminal.visible()) === known)
          .catch(() => assert.equal(still(terminal.visible()), known, name));
        terminal.type(CTRL_C);
        await terminal.sees(/Ctrl-C again to leave/);
        terminal.type(CTRL_C);
        await terminal.until(
          `the end of scene ${at}`,
          () => terminal.raw().split('left: left').length > ends,
        );
      }
    });
  }
});
