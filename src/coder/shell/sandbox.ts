/**
 * Runs commands in a sandbox with bubblewrap. The sandbox has no network. It has write access only to the workspace and
 * to temporary folders of its own, such as /tmp and /run. All processes in the sandbox end with the command. Commands
 * in the sandbox do not see processes outside the sandbox. They do not see the content of Parley's own folders either,
 * except for a folder that contains the workspace.
 *
 * A command must not leave files that are later run outside the sandbox. Therefore `.git`, `.parley` and similar paths
 * are read-only (read-only-paths.ts).
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { hasSandbox } from '../../base/system/index.ts';
import { absoluteFolders } from '../../base/files/index.ts';
import { reasonOf, systemCode } from '../../base/index.ts';
import { isInside } from '../files/path-rules.ts';
import { findNested, readOnlyPaths, type ReadOnlyPaths } from './read-only-paths.ts';
import { SandboxUnavailable } from './sandbox-unavailable.ts';

/** A program and its arguments, to be run in the sandbox. */
export interface Sandboxed {
  readonly file: string;
  readonly args: string[];
  /** Must be called once, after the program and all its processes have ended, or if they could not be started. */
  readonly done: () => void;
}

/** Converts a program and its arguments to a command that runs it in the sandbox. */
export type Sandbox = (file: string, args: readonly string[]) => Sandboxed;

const PROBE_MS = 5000;

/**
 * Opens a sandbox for this workspace. `own` are the absolute paths of Parley's own folders for settings and data.
 * Commands do not see the content of these folders, except for a folder that contains the workspace. Throws
 * SandboxUnavailable if the system does not support the sandbox, or if the sandbox cannot protect a path of the
 * workspace.
 */
export async function openSandbox(
  workspace: string,
  own: readonly string[] = [],
): Promise<Sandbox> {
  const nested = await findNested(workspace);
  const hidden = own.filter((folder) => existsSync(folder) && !isInside(folder, workspace));
  const sandbox: Sandbox = (program, programArgs) => {
    const paths = readOnlyPaths(workspace, nested);
    return {
      file: 'bwrap',
      args: [...bubblewrap(workspace, paths, hidden), '--', program, ...programArgs],
      done: occupy(paths.absent),
    };
  };
  let probe: Sandboxed;
  try {
    probe = sandbox('/bin/sh', ['-c', 'true']);
  } catch (error) {
    if (error instanceof SandboxUnavailable) throw error;
    throw new SandboxUnavailable(reasonOf(error), undefined, { cause: error });
  }
  try {
    await promisify(execFile)(probe.file, probe.args, {
      timeout: PROBE_MS,
      env: { PATH: absoluteFolders(process.env['PATH']) },
    });
  } catch (error) {
    const missing = systemCode(error) === 'ENOENT';
    const why = !hasSandbox
      ? 'the sandbox is available only on Linux'
      : missing
        ? 'the sandbox needs bubblewrap'
        : 'bubblewrap does not work on this system (are user namespaces allowed?)';
    const fix = hasSandbox && missing ? 'install bubblewrap' : undefined;
    throw new SandboxUnavailable(why, fix, { cause: error });
  } finally {
    probe.done();
  }
  return sandbox;
}

function bubblewrap(
  workspace: string,
  { existing, absent, fixed }: ReadOnlyPaths,
  hidden: readonly string[],
): string[] {
  const mounts: string[][] = [
    ['--ro-bind', '/', '/'],
    ['--dev', '/dev'],
    ['--proc', '/proc'],
    // The mount of /tmp comes before the mount of the workspace, because the workspace may be inside /tmp.
    ['--tmpfs', '/tmp'],
    // Hides the sockets of services, because services could act outside the sandbox.
    ['--tmpfs', '/run'],
    ['--bind', workspace, workspace],
    // Commands cannot rename these folders, because each of them is a mount point.
    ...fixed.map((folder) => ['--bind', folder, folder]),
    ...existing.map((file) => ['--ro-bind', file, file]),
    ...[...absent, ...hidden].map((file) => ['--tmpfs', file, '--remount-ro', file]),
    ['--chdir', workspace],
  ];
  return [
    ...mounts.flat(),
    // Separates the network, the processes, the host name and shared memory.
    '--unshare-all',
    // Prevents the command from typing into Parley's terminal.
    '--new-session',
    '--die-with-parent',
  ];
}

/** For each path, the number of commands of this process that have an empty folder mounted there. */
const occupied = new Map<string, number>();

/**
 * Records that a command uses these mount points. For each of them, bubblewrap creates an empty folder in the
 * workspace. Returns a function that removes the folders that no command needs any more.
 */
function occupy(paths: readonly string[]): () => void {
  for (const file of paths) occupied.set(file, (occupied.get(file) ?? 0) + 1);
  return () => {
    for (const file of paths) {
      const left = (occupied.get(file) ?? 1) - 1;
      if (left > 0) {
        occupied.set(file, left);
        continue;
      }
      occupied.delete(file);
      try {
        // Another process may have a mount at this folder. Removing the folder would also remove that mount.
        if (!isMounted(file)) rmdirSync(file);
      } catch {
        // The folder was not created, or the user has created it with content.
      }
    }
  };
}

/** Returns whether a process in another mount namespace has a mount at this path. */
function isMounted(file: string): boolean {
  const seen = new Set([readlinkSync('/proc/self/ns/mnt')]);
  // In mountinfo, spaces and some other characters are written as octal numbers.
  const written = file.replaceAll(
    /[\\ \t\n]/g,
    (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return readdirSync('/proc').some((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const namespace = readlinkSync(`/proc/${pid}/ns/mnt`);
      if (seen.has(namespace)) return false;
      seen.add(namespace);
      return readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(` ${written} `);
    } catch {
      // The process has ended, or belongs to another user.
      return false;
    }
  });
}
