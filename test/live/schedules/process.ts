/** The host in a process of its own, to be killed: `process.ts OPTIONS`. The parent sits at the terminal. */
import { openHost, type AtTerminal, type HostOptions } from './host.ts';

/** One thing that the person at the terminal does. */
export interface Done {
  readonly id: number;
  readonly what: keyof AtTerminal;
  readonly with: unknown;
}

const options = JSON.parse(process.argv[2] ?? '{}') as HostOptions;
const { url, sessionId, terminal } = await openHost(options);
process.on('disconnect', () => process.exit());
process.on('message', (message) => {
  const { id, what, with: given } = message as Done;
  const doing: Promise<unknown> = Reflect.apply(terminal[what], terminal, [given]);
  doing.then(
    () => process.send?.({ id }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.send?.({ url, sessionId });
