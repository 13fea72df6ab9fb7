export { registerPath } from './register-path.ts';
export type { Register } from './register.ts';
export { SERVER_BUSY_MS, openRegister } from './sqlite-register.ts';
