// The program as a real process: run to its end, or serving until it is told to stop.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { NO_LOCAL_MODELS } from '../support/vendors/local-servers.ts';

const MAIN = path.resolve(import.meta.dirname, '../../src/cli/main.ts');
const LIMIT_MS = 300_000;

/** A folder for this file's data, removed at its end. */
export const folder = mkdtempSync(path.join(tmpdir(), 'parley-cli-'));
const children = new Set<ChildProcess>();

after(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

export interface Options {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input; without it there is none. */
  readonly input?: string;
  readonly cwd?: string;
  /** The file that standard output is written to. Without it, the output is collected. */
  readonly out?: string;
  /** A command that runs the program, which follows as its last arguments. It must end with `exec`. */
  readonly through?: readonly string[];
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Waits until standard output (or error) matches, and gives the match. */
  readonly saying: (pattern: RegExp, stream?: 'out' | 'err') => Promise<RegExpExecArray>;
}

function environment(extra: Options['env']): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(PARLEY_|NODE_TEST|NO_COLOR|FORCE_COLOR|.*_PROXY$|.*_API_KEY$)/i.test(name),
  );
  return {
    ...Object.fromEntries(own),
    PARLEY_HOME: path.join(folder, 'home'),
    XDG_CONFIG_HOME: path.join(folder, 'config'),
    ...NO_LOCAL_MODELS,
    // Half of a start is stripping types: the second process need not do it again.
    NODE_COMPILE_CACHE: path.join(tmpdir(), 'parley-test-compile-cache'),
    ...extra,
  };
}

export function start(args: readonly string[], options?: Options): Running {
  return startProgram(MAIN, args, options);
}

/** Any program of the repository's. */
export function startProgram(
  file: string,
  args: readonly string[],
  options: Options = {},
): Running {
  const out = options.out === undefined ? undefined : openSync(options.out, 'w');
  const whole = [process.execPath, '--conditions=parley-source', file, ...args];
  const [command = '', ...rest] = [...(options.through ?? []), ...whole];
  const child = spawn(command, rest, {
    stdio: [options.input === undefined ? 'ignore' : 'pipe', out ?? 'pipe', 'pipe'],
    env: environment(options.env),
    cwd: options.cwd,
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  if (out !== undefined) closeSync(out);
  children.add(child);
  child.stdin?.end(options.input);
  const text = { out: '', err: '' };
  let wake = (): void => {};
  const collect = (stream: NodeJS.ReadableStream | null, name: 'out' | 'err') =>
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk;
      wake();
    });
  collect(child.stdout, 'out');
  collect(child.stderr, 'err');
  let over = false;
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => {
      children.delete(child);
      over = true;
      wake();
      resolve({ code, ...text });
    });
  });
  return {
    child,
    ended,
    async saying(pattern, stream = 'out') {
      for (;;) {
        const match = pattern.exec(text[stream]);
        if (match) return match;
        assert.ok(!over, `it ended without saying ${pattern}: ${text.out}${text.err}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

export function parley(args: readonly string[], options?: Options): Promise<Ended> {
  return start(args, options).ended;
}

export interface Ready {
  readonly ready: boolean;
  readonly url: string;
  readonly port: number;
  /** The address of gRPC, unless it is off. */
  readonly grpc?: string;
  readonly pid: number;
  readonly store: string;
  readonly version: string;
}

export interface Served extends Ready {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly saying: Running['saying'];
  /** Ends it by a signal and waits. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** Serves on a free port, with a store in memory unless the arguments name another. */
export async function serving(args: readonly string[], options?: Options): Promise<Served> {
  const store = args.includes('--store') || args.includes('disk') ? [] : ['--store', 'memory'];
  const own = args.filter((arg) => arg !== 'disk');
  const { child, ended, saying } = start(
    ['serve', '--port', '0', '--json', ...store, ...own],
    options,
  );
  let line = '';
  child.stdout?.on('data', (chunk: string) => (line += chunk));
  await saying(/\n/);
  return {
    ...(JSON.parse(line) as Ready),
    child,
    ended,
    saying,
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}

/** Each line of `--json`. */
export function lines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Exactly one line on standard error, no stack, and the code. */
export function assertRefused({ code, err }: Ended, expected: number, says: RegExp): void {
  assert.match(err, says);
  assert.match(err, /^parley: [^\n]+\n$/);
  assert.doesNotMatch(err, /\n\s+at /);
  assert.equal(code, expected);
}
