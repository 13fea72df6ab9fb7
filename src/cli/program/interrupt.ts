/** Ctrl-C, and output that nobody reads any more. A command may say how it wants to end; most just end. */
import { systemCode } from '../../base/index.ts';
import { EXIT } from './exit.ts';

let respond = (): void => process.exit(EXIT.interrupted);

/** Whoever read our output has gone: there is nothing left to say, and nobody to say it to. */
let leave = (): void => process.exit(EXIT.done);

/** Replaces what Ctrl-C does. */
export function onInterrupt(what: () => void): void {
  respond = what;
}

/** Replaces what happens once nobody reads our output; it may be called again and again. */
export function onReaderGone(what: () => void): void {
  leave = what;
}

/** From now on Ctrl-C and a broken pipe are ours. */
export function listenForInterrupt(): void {
  process.on('SIGINT', () => respond());
  process.stdout.on('error', (error) => {
    if (systemCode(error) !== 'EPIPE') throw error;
    leave();
  });
}
