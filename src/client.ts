/**
 * The client: finds agents, sends messages to them, and resumes their streams after a lost connection.
 *
 *   const agent = await connect('http://localhost:4000');
 *   for await (const text of agent.stream('Hello').textChunks()) process.stdout.write(text);
 */
export * from './protocol.ts';
export * from './client/public/index.ts';
