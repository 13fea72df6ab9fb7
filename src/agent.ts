/**
 * The agent framework: agents, runners, tools, models, sessions and artifacts. It is independent of A2A.
 *
 *   const agent = llmAgent({ name: 'weather', model: 'google:gemini-3-flash', instruction: '…', tools: [forecast] });
 *   const { text } = await createRunner({ agent }).runToEnd({ user: 'ann', session: 's1', message: 'Rain in Rome?' });
 */
export * from './agent/index.ts';
