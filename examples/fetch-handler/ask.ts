/**
 * Calls the handler of server.ts directly. The client uses the handler as its `fetch`, so it needs no port and no
 * network.
 */
import { connect } from 'parley-a2a/client';
import server from './server.ts';

const agent = await connect('http://localhost', {
  fetch: (input, init) => server.fetch(new Request(input, init)),
});
const question = process.argv[2] ?? 'What is the weather in Paris?';
for await (const text of agent.stream(question).textChunks()) process.stdout.write(text);
console.log();
