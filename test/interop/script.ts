/**
 * What the agents on the SDKs' servers do, said once: the adapters of both SDKs turn these steps into their own events.
 * The first words of a message decide.
 */
import type { SeenPart } from './seen.ts';
import type { Gates } from './support.ts';

export type Step =
  | { readonly state: State; readonly says?: string }
  /** A chunk of the one artifact; the first begins it. */
  | { readonly parts: readonly SeenPart[]; readonly last?: boolean };

export type State = 'working' | 'completed' | 'input-required' | 'rejected';

/** What a message was to the SDK. */
export interface Turn {
  readonly text: string;
  readonly parts: readonly SeenPart[];
  /** The task's first message; the same as `text` if this is it. */
  readonly first: string;
  readonly extensions: readonly string[];
  readonly signal: AbortSignal;
}

/** The text of a Message that answers without a task. */
export function reply({ text }: Turn): string | undefined {
  return text === 'ping' ? 'pong' : undefined;
}

export async function* play(turn: Turn, gates: Gates): AsyncGenerator<Step> {
  const [word, argument = ''] = turn.first.split(' ');
  yield { state: 'working' };
  switch (word) {
    case 'count':
      for (let n = 1; n <= Number(argument); n++) {
        yield { parts: [{ text: `${n} ` }], last: n === Number(argument) };
      }
      break;
    case 'hold':
      yield { parts: [{ text: 'begun ' }] };
      await gates.wait(argument, turn.signal);
      yield { parts: [{ text: 'and ' }] };
      await gates.wait(`${argument} again`, turn.signal);
      yield { parts: [{ text: 'done' }], last: true };
      break;
    case 'ask':
      if (turn.text === 'ask') {
        yield { state: 'input-required', says: 'Which city?' };
        return;
      }
      yield { parts: [{ text: `Sunny in ${turn.text}` }], last: true };
      break;
    case 'copy':
      yield { parts: turn.parts, last: true };
      break;
    case 'who':
      yield { parts: [{ text: turn.extensions.join() || 'nothing' }], last: true };
      break;
    case 'reject':
      yield { state: 'rejected', says: 'not today' };
      return;
    case 'fail':
      throw new Error('broken');
    default:
  }
  yield { state: 'completed', says: 'all done' };
}

/** What can be asked of a server of theirs. */
export interface ServerOptions {
  readonly push?: boolean;
  /** Every request but that for the card must carry it. */
  readonly token?: string;
}

export const EXTENSION = 'https://parley.test/extensions/tone';
