/**
 * Runs commands in a sandbox with bubblewrap. The sandbox has no network, and write access only to the workspace and a
 * private /tmp. All its processes end with the command.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { systemCode } from '../../base/index.ts';

/** Converts a program and its arguments to a command that runs it in the sandbox. */
export type Sandbox = (file: string, args: readonly string[]) => { file: string; args: string[] };

const PROBE_MS = 5000;

export class SandboxUnavailable extends Error {
  override readonly name = 'SandboxUnavailable';
}

/** Opens a sandbox for this workspace. Throws SandboxUnavailable if the system does not support it. */
export async function openSandbox(workspace: string, signal?: AbortSignal): Promise<Sandbox> {
  const sandbox = bubblewrap(workspace);
  const { file, args } = sandbox('/bin/sh', ['-c', 'true']);
  try {
    await promisify(execFile)(file, args, { timeout: PROBE_MS, ...(signal && { signal }) });
  } catch (error) {
    signal?.throwIfAborted();
    const missing = systemCode(error) === 'ENOENT';
    const why =
      process.platform !== 'linux'
        ? 'the sandbox is available only on Linux; remove --sandbox'
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
      // This comes before the workspace, because the workspace may be inside /tmp.
      '--tmpfs',
      '/tmp',
      // This hides the sockets of services, because services could act outside the sandbox.
      '--tmpfs',
      '/run',
      '--bind',
      workspace,
      workspace,
      '--chdir',
      workspace,
      // This separates the network, the processes, the host name and shared memory.
      '--unshare-all',
      // This prevents the command from typing into Parley's terminal.
      '--new-session',
      '--die-with-parent',
      '--',
      file,
      ...args,
    ],
  });
}
