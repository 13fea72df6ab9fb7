/**
 * Ends a command with everything that it started.
 *
 * On Linux these are found in /proc: the command's session, its descendants, and every process that carries the mark
 * which the command has in its environment, so also one that moved to a session of its own and was adopted by init.
 * Elsewhere it is the command's process group. A process that does both, cleans its environment and lets itself be
 * adopted, is only caught in the sandbox, whose processes end with it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

export interface Root {
  /** The session's leader. */
  readonly pid: number;
  /** `NAME=value` of its environment. */
  readonly mark: string;
}

/** How long a process may take to clean up after SIGTERM. */
const GRACE_MS = 2000;
/** After SIGKILL: the kernel may need a moment, and there may have been a fork in between. */
const KILL_MS = 3000;
const POLL_MS = 25;

/** Ends them all: SIGTERM, then SIGKILL. True when none is left. */
export async function endTree(root: Root, graceMs = GRACE_MS): Promise<boolean> {
  for (const [signal, patience] of [
    ['SIGTERM', graceMs],
    ['SIGKILL', KILL_MS],
  ] as const) {
    const deadline = performance.now() + patience;
    const told = new Set<number>();
    for (;;) {
      const members = membersOf(root);
      if (members.length === 0) return true;
      for (const pid of members) {
        if (told.has(pid)) continue;
        told.add(pid);
        send(pid, signal);
        // One that is stopped would not hear it.
        send(pid, 'SIGCONT');
      }
      if (performance.now() >= deadline) break;
      await wait(POLL_MS);
    }
  }
  return membersOf(root).length === 0;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile, or is somebody else's (a set-user-id program).
  }
}

/** Process ids; a negative one is a group. */
function membersOf(root: Root): number[] {
  try {
    if (process.platform === 'linux') return fromProc(root);
  } catch {
    // No /proc: then as on other systems.
  }
  try {
    process.kill(-root.pid, 0);
    return [-root.pid];
  } catch {
    return [];
  }
}

function fromProc({ pid: root, mark }: Root): number[] {
  const found = new Set<number>();
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    // The name in parentheses may have anything in it.
    const stat = read(pid, 'stat');
    const [state, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === undefined || state === '' || state === 'Z' || state === 'X') continue;
    children.set(Number(parent), [...(children.get(Number(parent)) ?? []), pid]);
    if (pid === root || Number(session) === root) found.add(pid);
    else if (`\0${read(pid, 'environ')}`.includes(`\0${mark}\0`)) found.add(pid);
  }
  // A set gives what is added while it is walked.
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child);
  return [...found];
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    // It ended meanwhile, or is not ours.
    return '';
  }
}
