/**
 * A program on a real pseudo-terminal, and its screen as an emulator has it. Waits are for what is to be seen, never for
 * a time.
 */
import path from 'node:path';
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { NO_LOCAL_MODELS } from '../support/vendors/local-servers.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const LIMIT_MS = 20_000;
/** Ink turns this mode on when it reads keys. */
const BRACKETED_PASTE = '\u001b[?2004h';

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export type Terminal = ReturnType<typeof openTerminal>;

/** `file` is run by Node with what tests need to run TypeScript. */
export function openTerminal(file: string, args: readonly string[], options: TerminalOptions = {}) {
  const { columns = 100, rows = 30, environment = {} } = options;
  const screen = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: 20_000,
    allowProposedApi: true,
  });
  // Ink draws nothing in CI until it ends, and colours would depend on where the tests run.
  const {
    CI: _,
    NO_COLOR: __,
    FORCE_COLOR: ___,
    NODE_TEST_CONTEXT: ____,
    ...inherited
  } = process.env;
  const program = spawn(
    process.execPath,
    [
      '--conditions=parley-source',
      '--import',
      path.join(ROOT, 'test/support/tsx-hook.ts'),
      path.resolve(ROOT, file),
      ...args,
    ],
    {
      name: 'xterm-256color',
      cols: columns,
      rows,
      cwd: ROOT,
      env: { ...inherited, ...NO_LOCAL_MODELS, TERM: 'xterm-256color', ...environment },
    },
  );
  const watchers = new Set<() => void>();
  let raw = '';
  let exitCode: number | undefined;
  const changed = (): void => {
    for (const watch of watchers) watch();
  };
  program.onData((data) => {
    raw += data;
    screen.write(data, changed);
  });
  program.onExit((exit) => {
    exitCode = exit.exitCode;
    screen.write('', changed);
  });
  // What the program asks of the terminal, the emulator answers.
  screen.onData((data) => program.write(data));

  function line(index: number): string {
    return screen.buffer.active.getLine(index)?.translateToString(true) ?? '';
  }

  /** All lines, those that have scrolled away too. */
  function all(): string {
    const { length } = screen.buffer.active;
    return Array.from({ length }, (_unused, index) => line(index))
      .join('\n')
      .trimEnd();
  }

  /** What is on the screen. */
  function visible(): string {
    const { baseY } = screen.buffer.active;
    return Array.from({ length: screen.rows }, (_unused, index) => line(baseY + index))
      .join('\n')
      .trimEnd();
  }

  async function until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const watch = (): void => {
      const found = look();
      if (found !== undefined && found !== false) resolve(found);
    };
    const timer = setTimeout(
      () => reject(new Error(`Not seen: ${what}. On the screen:\n${all()}`)),
      LIMIT_MS,
    );
    watchers.add(watch);
    watch();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      watchers.delete(watch);
    }
  }

  return {
    screen,
    all,
    visible,
    /** Every byte that the program has written. */
    raw: () => raw,
    type: (keys: string) => program.write(keys),
    resize: (cols: number, lines: number) => {
      screen.resize(cols, lines);
      program.resize(cols, lines);
    },
    size: () => ({ columns: screen.cols, rows: screen.rows }),
    until,
    /**
     * Waits until the UI reads keys, after it has been started so many times. Keys that are typed earlier are echoed.
     */
    readsKeys: (starts = 1) => until('the start', () => raw.split(BRACKETED_PASTE).length > starts),
    sees: (pattern: RegExp) => until(String(pattern), () => pattern.test(visible())),
    exited: () =>
      until('the end of the program', () => (exitCode === undefined ? false : { code: exitCode })),
    cursor: () => ({ x: screen.buffer.active.cursorX, y: screen.buffer.active.cursorY }),
    pid: program.pid,
    signal: (name: NodeJS.Signals) => program.kill(name),
    close() {
      if (exitCode === undefined) program.kill('SIGKILL');
      screen.dispose();
    },
  };
}
