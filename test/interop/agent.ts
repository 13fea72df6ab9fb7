/**
 * The agent that the SDKs' clients talk to. The first words of a message say what it does; half of it is written with
 * createAgent, half (what begins with "raw") as a bare executor.
 */
import { textOf } from '../../src/protocol/index.ts';
import {
  createAgent,
  type A2AAgent,
  type AgentExecutor,
  type AgentProfile,
} from '../../src/server.ts';
import type { Gates } from './support.ts';

export const EXTENSION = 'https://parley.test/extensions/tone';

const profile: AgentProfile = {
  name: 'Interop',
  description: 'Does what it is told',
  version: '2.1.0',
  provider: { organization: 'Parley', url: 'https://parley.test' },
  skills: [{ id: 'obey', name: 'Obey', description: 'Does it', tags: ['test'] }],
  inputModes: ['text/plain', 'application/json', 'image/*'],
};

/** Bytes that are no UTF-8, so that nobody gets them right by accident. */
export const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]).toString('base64');

export function interopAgent(gates: Gates, required = false): A2AAgent {
  const comfortable = createAgent(
    {
      ...profile,
      extensions: [{ uri: EXTENSION, description: 'The tone of the answer', required }],
      reply: ({ text }) => (text === 'ping' ? 'pong' : undefined),
    },
    async function* (context) {
      const [word, argument = ''] = context.text.split(' ');
      switch (word) {
        case 'count':
          for (let n = 1; n <= Number(argument); n++) yield `${n} `;
          break;
        case 'hold':
          yield 'begun ';
          await gates.wait(argument, context.signal);
          yield 'done';
          break;
        case 'ask': {
          const city = await context.ask('Which city?');
          const day = await context.ask('Which day?');
          yield `Sunny in ${city.text} on ${day.text}`;
          break;
        }
        case 'who':
          yield `${context.user?.id ?? 'nobody'} with ${context.extensions.join() || 'nothing'}`;
          break;
        case 'fail':
          throw new Error('the secret reason');
        default:
          yield context.text;
      }
    },
  );

  const raw: AgentExecutor = {
    async *execute({ message, turn }) {
      const text = textOf(turn[0]?.parts ?? []);
      yield { kind: 'status-update', state: 'working', message: 'on it' };
      if (text === 'raw reject') {
        yield { kind: 'status-update', state: 'rejected', message: 'not today' };
      } else if (text === 'raw login' && turn.length === 1) {
        yield { kind: 'status-update', state: 'auth-required', message: 'please log in' };
      } else {
        // Everything that came with the message goes back: a copy of each part, in one artifact.
        yield {
          kind: 'artifact-update',
          artifact: { artifactId: 'copy', name: 'copy', parts: message.parts },
          lastChunk: true,
        };
      }
    },
  };

  return {
    ...comfortable,
    execute: (context) =>
      textOf(context.turn[0]?.parts ?? []).startsWith('raw')
        ? raw.execute(context)
        : comfortable.execute(context),
  };
}
