export {
  serveAcp,
  type AcpAbout,
  type AcpAuthentication,
  type SessionQuery,
  type Wanted,
} from './serve.ts';
export { acpHttp, acpSocket, stdioStream } from './streams.ts';
