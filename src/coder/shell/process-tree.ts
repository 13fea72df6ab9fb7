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
  /** The mark in the environment of the command's processes, as `NAME=value`. */
  readonly mark: string;
}

/** How long a process may run after SIGTERM. */
const GRACE_MS = 2000;
/** How long to look for remaining processes after SIGKILL. A process may have started others in the meantime. */
const KILL_MS = 3000;
const POLL_MS = 25;
/** How long, and at which interval, to look again at a process that is just replacing its program (exec). */
const EXEC_MS = 1000;
const EXEC_POLL_MS = 2;
/** The flag of kernel threads in /proc/PID/stat (PF_KTHREAD). */
const KERNEL_THREAD = 0x0020_0000;

/**
 * Kills all processes of the command: first with SIGTERM and, if some still run after `graceMs`, with SIGKILL. Waits
 * until they have ended, or until KILL_MS have passed since SIGKILL.
 */
export async function endTree(root: Root, graceMs = GRACE_MS): Promise<void> {
  for (const [signal, waitMs] of [
    ['SIGTERM', graceMs],
    ['SIGKILL', KILL_MS],
  ] as const) {
    const deadline = performance.now() + waitMs;
    const told = new Set<number>();
    for (;;) {
      const members = await membersOf(root);
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

/** Returns the ids of the command's running processes. A negative id means a process group. */
export async function membersOf(root: Root): Promise<number[]> {
  try {
    if (hasProc) return await fromProc(root);
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

async function fromProc({ pid: root, mark }: Root): Promise<number[]> {
  const found = new Set<number>();
  const children = new Map<number, number[]>();
  /** The processes whose environment was empty when last read, with the start address of the environment. */
  const empty = new Map<number, string>();

  /**
   * Adds the process to `found` if it has the mark. While a process replaces its program (exec), the kernel reports an
   * empty environment. The environment is really empty if its address is the same at the next look, because exec
   * changes the address.
   */
  function lookForMark(pid: number): void {
    const environment = read(pid, 'environ');
    const before = empty.get(pid);
    empty.delete(pid);
    if (environment !== '') {
      if (`\0${environment}`.includes(`\0${mark}\0`)) found.add(pid);
      return;
    }
    const stat = statOf(pid);
    const address = stat[47];
    if (address === undefined || hasEnded(stat) || (Number(stat[6]) & KERNEL_THREAD) !== 0) return;
    if (address === '0' || address !== before) empty.set(pid, address);
  }

  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const stat = statOf(pid);
    if (hasEnded(stat)) continue;
    const [, parent, , session] = stat;
    children.set(Number(parent), [...(children.get(Number(parent)) ?? []), pid]);
    if (pid === root || Number(session) === root) found.add(pid);
    else lookForMark(pid);
  }
  const deadline = performance.now() + EXEC_MS;
  while (empty.size > 0 && performance.now() < deadline) {
    await wait(EXEC_POLL_MS);
    // A copy, because lookForMark() removes a process from the map and may add it again.
    const suspects = [...empty.keys()];
    for (const pid of suspects) lookForMark(pid);
  }
  // The iteration over a set includes elements that are added during the iteration.
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child);
  return [...found];
}

/** Returns the fields of /proc/PID/stat from the third on: state, parent, process group, session and others. */
function statOf(pid: number): string[] {
  // The second field, the name of the program, is in parentheses and may contain any character.
  const stat = read(pid, 'stat') ?? '';
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Returns whether the process with these fields has ended. A zombie counts as ended. */
function hasEnded([state]: readonly string[]): boolean {
  return !state || state === 'Z' || state === 'X';
}

/** Returns the text of a file in /proc/PID, or undefined if the process has ended or belongs to another user. */
function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return undefined;
  }
}
