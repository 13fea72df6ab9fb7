/**
 * The gateway as a part of another program.
 *
 *   const gateway = createGateway({ providers: { openai: { type: 'openai', apiKey } } });
 *   http.createServer(gateway.node).listen(8090);
 */
export * from './gateway/embedded/index.ts';
