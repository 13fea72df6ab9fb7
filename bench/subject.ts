/** Starts a server under test in its own process, on the same Node, and measures its CPU time and memory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const here = import.meta.dirname;

export interface Subject {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** The first key, if the server is a gateway. */
  readonly key: string;
  /** The CPU time of all threads in seconds, or undefined if the system does not report it. */
  cpu(): number | undefined;
  memory(): Promise<NodeJS.MemoryUsage>;
  rss(): number;
  stop(): Promise<void>;
}

export interface SubjectOptions {
  readonly name: string;
  /** The script to run, followed by its arguments. */
  readonly command: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly nodeFlags?: readonly string[];
}

export async function startSubject(options: SubjectOptions): Promise<Subject> {
  const flags = ['--conditions=parley-source', '--expose-gc', '--import', `${here}/probe.ts`];
  const child = spawn(
    process.execPath,
    [...flags, ...(options.nodeFlags ?? []), ...options.command],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, ...options.env, NODE_ENV: 'production' },
    },
  );
  const { port, key = '' } = await readyLine(child, options.name);
  const pid = child.pid!;
  return {
    name: options.name,
    port,
    pid,
    key,
    cpu: () => cpuSeconds(pid),
    async memory() {
      child.send('memory');
      const [{ memory }] = (await once(child, 'message')) as [{ memory: NodeJS.MemoryUsage }];
      return memory;
    },
    rss: () => residentBytes(pid),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

interface Ready {
  readonly port: number;
  readonly key?: string;
}

async function readyLine(child: ChildProcess, name: string): Promise<Ready> {
  const lines = createInterface({ input: child.stdout! });
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  try {
    for await (const line of lines) {
      if (line.startsWith('{')) return JSON.parse(line) as Ready;
    }
    throw new Error(`${name} did not become ready`);
  } finally {
    clearTimeout(timer);
    lines.close();
    child.stdout!.resume();
  }
}

/** Returns the CPU time in seconds. The scheduler counts it in nanoseconds, but /proc/PID/stat in ticks of 10 ms. */
function cpuSeconds(pid: number): number | undefined {
  try {
    let total = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      total += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    }
    return total / 1e9;
  } catch {
    return undefined;
  }
}

function residentBytes(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}
