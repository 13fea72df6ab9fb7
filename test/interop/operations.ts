/** Where the scenarios belong in the tables of docs/interop.md. */
import type { TestContext } from 'node:test';
import { tries } from '../support/interop-table.ts';

const OPERATIONS: Readonly<Record<string, string>> = {
  'finds the card at the plain address, and its way from there': 'card',
  'gets a finished Task for an answer': 'send',
  'streams every event in order, to the end': 'stream',
  'answers a question, and the next, by send and by stream': 'ask and answer',
  'sends and gets files and data whole': 'files',
  'lists tasks page by page, newest first': 'get and list',
  'cancels a task that is being worked on': 'cancel',
  'subscribes to a running task: first the Task, then what follows': 'subscribe',
  'is called back at the webhook that came with the message': 'push',
  'is refused with the right code': 'errors',
  'is found by its card': 'card',
  'answers with a finished Task': 'send',
  'gives the text once, however often the connection breaks': 'same text once',
  'asks, and goes on with the answer': 'ask and answer',
  'takes and gives files and data whole': 'files',
  'lists tasks where it can': 'get and list',
  'cancels a task': 'cancel',
  'lets us subscribe: first the Task, then what follows': 'subscribe',
  'calls our webhook': 'push',
  'refuses by kinds that we know': 'errors',
};

/** Returns the name of an SDK in the table. */
export function sdkName(name: string): string {
  return name.replace('SDK', '@a2a-js/sdk');
}

/** Notes the result of a scenario with one of the official SDKs. */
export function noteScenario(
  t: TestContext,
  does: string,
  name: string,
  role: 'client' | 'server',
): void {
  const operation = OPERATIONS[does];
  const peer = sdkName(name);
  if (operation !== undefined) tries(t, { protocol: 'A2A', peer, role, operation });
}
