export { registerPath } from './register-path.ts';
export { SERVER_BUSY_MS, openRegister, type Register } from './register.ts';
