#!/usr/bin/env node
// Starts the built program. On a Node that is new enough this is one import. On an older one it finds a newer Node, runs
// the program with it, and passes on the terminal, signals and exit code.
// Plain JavaScript for Node 18 and later, because an outdated Node must be able to parse it.
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import path from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath, pathToFileURL } from 'node:url';

const OLDEST = [24, 16];
const launcher = fileURLToPath(import.meta.url);
const folder = path.dirname(launcher);

// The repository has the built package in dist/parley-cli/; when it is published, that folder is the root.
const bundle = ['../dist/parley-cli/cli/parley.js', '../cli/parley.js']
  .map((place) => path.resolve(folder, place))
  .find((place) => existsSync(place));

if (bundle === undefined) {
  stop('not built yet: run npm run build first');
} else if (isNewEnough(process.version)) {
  if (process.env.PARLEY_LAUNCHER !== undefined) dieWithLauncher();
  module.enableCompileCache?.();
  await import(pathToFileURL(bundle).href);
} else {
  await relaunch();
}

function stop(sentence) {
  process.stderr.write(`parley: ${sentence}\n`);
  process.exit(2);
}

function isNewEnough(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** A launcher that is killed with SIGKILL cannot pass a signal on, but its end of the IPC channel closes. */
function dieWithLauncher() {
  delete process.env.PARLEY_LAUNCHER;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}

async function relaunch() {
  const { spawn, spawnSync } = await import('node:child_process');

  const node = candidates().find((candidate) => {
    if (!existsSync(candidate)) return false;
    const { status, stdout } = spawnSync(candidate, ['--version'], {
      encoding: 'utf8',
      timeout: 5000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return status === 0 && isNewEnough(stdout.trim());
  });
  if (node === undefined) {
    stop(
      `needs Node ${OLDEST.join('.')} or newer and this is ${process.version}: ` +
        'install one from https://nodejs.org, or set PARLEY_NODE to the path of one',
    );
  }

  const child = spawn(node, [launcher, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PARLEY_LAUNCHER: String(process.pid) },
  });
  process.on('exit', () => child.kill());
  forgetEnvironment();

  // A signal from the terminal reaches the whole foreground group, so the child already has it. A second one would look
  // like a second Ctrl-C.
  const typed = [0, 1, 2].some((fd) => isatty(fd)) ? ['SIGINT', 'SIGQUIT'] : [];
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) {
    process.on(signal, () => {
      if (!typed.includes(signal)) child.kill(signal);
    });
  }

  child.on('error', (error) => stop(`could not start ${node}: ${error.message}`));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    if (signal === 'SIGINT') process.exit(130);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 1000);
  });
}

/**
 * Commands of the coding agent do not get its secrets, and must not read them in the environment of this process either.
 * The program does the same for its own environment (src/cli/coder/own-secrets.ts).
 */
function forgetEnvironment() {
  if (process.platform !== 'linux') return;
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [start, end] = [Number(fields[47]), Number(fields[48])];
    const memory = openSync('/proc/self/mem', 'r+');
    writeSync(memory, Buffer.alloc(end - start), 0, end - start, start);
    closeSync(memory);
  } catch {
    // Some systems do not allow a process to write its own memory through /proc.
  }
}

/** Where to look for a newer Node; the explicitly configured one comes first. */
function candidates() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  const own = `node_modules/node-${process.platform}-${process.arch}/bin/${name}`;
  return [
    ...(process.env.PARLEY_NODE ? [process.env.PARLEY_NODE] : []),
    path.resolve(folder, '..', own),
    path.resolve(folder, '../../..', own),
    ...(process.env.PATH ?? '')
      .split(path.delimiter)
      .filter((entry) => path.isAbsolute(entry))
      .map((entry) => path.join(entry, name)),
  ];
}
