/** The servers that are compared, each in a process of its own, on the same Node. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSubject, type Subject } from './subject.ts';

const here = import.meta.dirname;
const CLI = join(here, '../dist/cli/parley.js');

/** Folders and processes to remove at the end. */
const folders: string[] = [];
const running = new Set<Subject>();

export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  folders.push(folder);
  return folder;
}

async function started(options: Parameters<typeof startSubject>[0]): Promise<Subject> {
  const subject = await startSubject(options);
  running.add(subject);
  return subject;
}

export function bare(): Promise<Subject> {
  return started({ name: 'bare', command: [join(here, 'servers/bare.ts')] });
}

export function sdk(): Promise<Subject> {
  return started({ name: 'sdk', command: [join(here, 'servers/sdk.ts')] });
}

/** The bare `ws` library, which sends the given frames to every client. */
export function bareWs(): Promise<Subject> {
  return started({ name: 'ws', command: [join(here, 'servers/bare-ws.ts')] });
}

/** A live session whose model sends many events per turn. */
export function liveSession(): Promise<Subject> {
  return started({ name: 'parley', command: [join(here, 'servers/live.ts'), scratch()] });
}

/** Our built server, as a user starts it. */
export function parley(name: string, ...flags: string[]): Promise<Subject> {
  const command = [CLI, 'serve', '--agent', 'bench', '--port', '0', '--json', ...flags];
  return started({ name, command, env: { PARLEY_HOME: scratch() } });
}

export const inMemory = () => parley('parley', '--store', 'memory');
export const onDisk = (name = 'sqlite', ...flags: string[]) =>
  parley(name, '--store', `sqlite:${join(scratch(), 'tasks.db')}`, ...flags);

/** A proxy with bare node:http and undici. */
export function bareProxy(upstream: Subject): Promise<Subject> {
  const command = [join(here, 'servers/proxy.ts'), String(upstream.port)];
  return started({ name: 'bare', command });
}

/** Our built gateway, with the upstream as its agent `bench`. */
export function gateway(name: string, upstream: Subject, ...flags: string[]): Promise<Subject> {
  const home = scratch();
  const config = join(home, 'gateway.json');
  const agents = { bench: { url: `http://127.0.0.1:${upstream.port}` } };
  writeFileSync(config, JSON.stringify({ agents }));
  const store = name === 'sqlite' ? `sqlite:${join(home, 'tasks.db')}` : 'memory';
  const own = ['--config', config, '--store', store, '--port', '0', '--json'];
  const env = { PARLEY_HOME: home };
  return started({ name, command: [CLI, 'gateway', ...own, ...flags], env });
}

export async function stop(...subjects: readonly Subject[]): Promise<void> {
  for (const subject of subjects) {
    await subject.stop();
    running.delete(subject);
  }
}

export async function cleanUp(): Promise<void> {
  await stop(...running);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
