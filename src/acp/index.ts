export { serveAcp, type Wanted } from './serve.ts';
export { acpHttp, acpSocket, stdioStream } from './streams.ts';
