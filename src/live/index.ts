export { LiveAccess, type LiveToken } from './access.ts';
export { openLive, type Live } from './hub.ts';
export { liveServeOptions } from './ws/route.ts';
