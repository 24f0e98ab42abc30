/** The SFTP server as a program of its own: see command.ts for its arguments. */
import { become } from './privileges.ts';
import { serve } from './server.ts';

// for ps: the published agent hands the program over as a text, which nobody wants to see there
process.title = 'edge-agent sftp-server';
become(process.argv.at(-1) ?? '');
serve();
