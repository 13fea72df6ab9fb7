/**
 * Runs the terminal UI on a live session. Resolves when the person leaves or the session ends. The UI uses the session
 * only through the interface `LiveSession`.
 *
 *   await startTui(session, { theme: 'dark', a2aPort: 1234 });
 */
import { render } from 'ink';
import type { LiveSession } from '../live/client/index.ts';
import { Controller } from './control/controller.ts';
import type { ExitReason, TuiOptions } from './control/options.ts';
import { startPlain } from './plain.ts';
import { AppScreen } from './screens/app.tsx';
import { themeFor } from './text/theme.ts';

const MAX_FPS = 60;
/** Moves the cursor to the top and clears the screen, but not the scrollback. */
const CLEAR_SCREEN = '\u001B[H\u001B[2J';

export async function startTui(
  session: LiveSession,
  options: TuiOptions = {},
): Promise<ExitReason> {
  const { stdin = process.stdin, stdout = process.stdout, environment = process.env } = options;
  const reason = await (options.plain === true ? startPlain(session, options) : startScreen());
  options.onExit?.(reason);
  return reason;

  async function startScreen(): Promise<ExitReason> {
    if (!isTerminal(stdin, stdout)) {
      throw new Error('The terminal UI needs a terminal. Without one, use --plain.');
    }
    const controller = new Controller(session, options);
    const clear = (): void => {
      screen.clear();
      stdout.write(CLEAR_SCREEN);
    };
    const app = (
      <AppScreen
        controller={controller}
        theme={themeFor(options.theme, environment)}
        options={options}
        clear={clear}
      />
    );
    const screen = render(app, {
      stdin,
      stdout,
      exitOnCtrlC: false,
      // The program itself redirects the console output of libraries to the log.
      patchConsole: false,
      incrementalRendering: true,
      maxFps: MAX_FPS,
      // Lets terminals that support the Kitty keyboard protocol distinguish Shift-Enter from Enter.
      kittyKeyboard: { mode: 'auto' },
      interactive: true,
    });
    const left = await controller.run();
    await screen.waitUntilRenderFlush();
    screen.unmount();
    await screen.waitUntilExit();
    return left;
  }
}

function isTerminal(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream): boolean {
  return stdin.isTTY && stdout.isTTY;
}
