/**
 * Kills a command with all processes that it started.
 *
 * On Linux the processes are found in /proc. They are the processes of the command's session, all processes with the
 * command's mark, and the descendants of these processes. The mark is an environment variable. With the mark, even a
 * process that started its own session and was adopted by init is found. If such a process has also cleared its
 * environment, it is not found. In the sandbox, even this process ends with the command. On other systems, only the
 * processes in the command's process group are killed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { hasProc } from '../../base/system/index.ts';

export interface Root {
  /** The process id of the session leader. */
  readonly pid: number;
  /** The mark in the environment of its processes, as `NAME=value`. */
  readonly mark: string;
}

/** How long a process may run after SIGTERM. */
const GRACE_MS = 2000;
/** How long to look for remaining processes after SIGKILL. A process may have started others in the meantime. */
const KILL_MS = 3000;
const POLL_MS = 25;

/**
 * Kills all processes of the command, first with SIGTERM, then with SIGKILL. Waits until they have ended, but at most
 * for the sum of `graceMs` and KILL_MS.
 */
export async function endTree(root: Root, graceMs = GRACE_MS): Promise<void> {
  for (const [signal, waitMs] of [
    ['SIGTERM', graceMs],
    ['SIGKILL', KILL_MS],
  ] as const) {
    const deadline = performance.now() + waitMs;
    const told = new Set<number>();
    for (;;) {
      const members = membersOf(root);
      if (members.length === 0) return;
      for (const pid of members) {
        if (told.has(pid)) continue;
        told.add(pid);
        send(pid, signal);
        // A stopped process does not receive the signal until it continues.
        send(pid, 'SIGCONT');
      }
      if (performance.now() >= deadline) break;
      await wait(POLL_MS);
    }
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended, or belongs to another user (a set-user-id program).
  }
}

/** Returns the ids of the processes. A negative id means a process group. */
function membersOf(root: Root): number[] {
  try {
    if (hasProc) return fromProc(root);
  } catch {
    // There is no /proc, so continue as on other systems.
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
    // In /proc/PID/stat, the name of the program is in parentheses and may contain any character.
    const stat = read(pid, 'stat');
    const [state, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === undefined || state === '' || state === 'Z' || state === 'X') continue;
    children.set(Number(parent), [...(children.get(Number(parent)) ?? []), pid]);
    if (pid === root || Number(session) === root) found.add(pid);
    else if (`\0${read(pid, 'environ')}`.includes(`\0${mark}\0`)) found.add(pid);
  }
  // The iteration over a set includes elements that are added during the iteration.
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child);
  return [...found];
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    // The process has ended, or belongs to another user.
    return '';
  }
}
