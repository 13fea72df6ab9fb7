/**
 * Commands in a sandbox, by bubblewrap: no network, only the workspace (and a /tmp of its own) can be written, and no
 * process outlives the command.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** What to start instead of a program, so that it runs in the sandbox. */
export type Sandbox = (file: string, args: readonly string[]) => { file: string; args: string[] };

const PROBE_MS = 5000;

export class SandboxUnavailable extends Error {
  override readonly name = 'SandboxUnavailable';
}

/** A sandbox for this workspace. Throws SandboxUnavailable, with what to do, where there is none. */
export async function openSandbox(workspace: string, signal?: AbortSignal): Promise<Sandbox> {
  const sandbox = bubblewrap(workspace);
  const { file, args } = sandbox('/bin/sh', ['-c', 'true']);
  try {
    await promisify(execFile)(file, args, { timeout: PROBE_MS, ...(signal && { signal }) });
  } catch (error) {
    signal?.throwIfAborted();
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const why =
      process.platform !== 'linux'
        ? 'the sandbox needs Linux; remove --sandbox'
        : missing
          ? 'the sandbox needs bubblewrap; install the package "bubblewrap" or remove --sandbox'
          : 'bubblewrap does not work on this system (are user namespaces allowed?); remove --sandbox';
    throw new SandboxUnavailable(why, { cause: error });
  }
  return sandbox;
}

export function bubblewrap(workspace: string): Sandbox {
  return (file, args) => ({
    file: 'bwrap',
    args: [
      '--ro-bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      // Before the workspace, which may lie in it.
      '--tmpfs',
      '/tmp',
      // Sockets of services that would work for the command outside.
      '--tmpfs',
      '/run',
      '--bind',
      workspace,
      workspace,
      '--chdir',
      workspace,
      // Network, processes, host name, shared memory: all of its own.
      '--unshare-all',
      // Not our terminal to type into.
      '--new-session',
      '--die-with-parent',
      '--',
      file,
      ...args,
    ],
  });
}
