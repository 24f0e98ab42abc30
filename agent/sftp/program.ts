/** The SFTP server as a program of its own. */
import { serve } from './server.ts';

process.exitCode = serve();
