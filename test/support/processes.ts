import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/**
 * Runs a module in several Node processes at the same time, and waits until all of them have ended well. The program
 * gets the number of its process as `process.argv[1]`. Its line `await start()` waits until all processes have loaded
 * their modules. Returns what each process printed.
 */
export async function runTogether(count: number, program: string): Promise<string[]> {
  const source = `
    const { once } = await import('node:events');
    const start = async () => {
      process.send('ready');
      await once(process, 'message');
      process.disconnect();
    };
    ${program}`;
  const args = ['--conditions=parley-source', '--input-type=module', '--eval', source, '--'];
  const processes = Array.from({ length: count }, (_, number) =>
    spawn(process.execPath, [...args, String(number)], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    }),
  );
  const ended = processes.map(async (child, number) => {
    const [printed, [code]] = await Promise.all([text(child.stdout!), once(child, 'close')]);
    if (code !== 0) throw new Error(`process ${number} ended with exit code ${code}`);
    return printed;
  });
  const all = Promise.all(ended);
  await Promise.race([all, Promise.all(processes.map((child) => once(child, 'message')))]);
  for (const child of processes) child.send('start');
  return all;
}
