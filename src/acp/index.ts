export { acpRoutes } from './http.ts';
export {
  serveAcp,
  type AcpAbout,
  type AcpAuthentication,
  type SessionQuery,
  type Wanted,
} from './serve.ts';
export { acpHttp, acpSocket, serveSocket, stdioStream } from './streams.ts';
