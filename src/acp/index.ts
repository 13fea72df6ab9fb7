export { serveAcp, type Wanted } from './serve.ts';
export { acpSocket, stdioStream } from './streams.ts';
