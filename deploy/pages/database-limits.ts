/** Limits of what is asked of the database. */
import { limits, type Limit } from './limit.ts';
import * as answerFrames from '../../persistence/connections/answer-frames.ts';
import * as databaseClient from '../../persistence/connections/database-client.ts';
import * as database from '../../persistence/connections/database.ts';
import * as serverSettlement from '../../persistence/incarnations/server-settlement.ts';

/** In the order of the page. The link in the last column of each row leads to the file. */
export const DATABASE_LIMITS: readonly (readonly Limit[])[] = [
  limits('persistence/connections/database.ts', database, [
    ['QUERY_MS_MAX', 'A statement that takes longer fails with a 503.'],
    [
      'KEEP_ALIVE_MS',
      'A connection of an admin that was silent for so long is asked by the system whether it is there; it is lost ten unanswered questions, one each second, later.',
    ],
  ]),
  limits('persistence/connections/answer-frames.ts', answerFrames, [
    ['ANSWER_BYTES_MAX', 'One message of the database. A connection on which a longer one is announced is closed.'],
  ]),
  limits('persistence/connections/database-client.ts', databaseClient, [
    ['GOODBYE_MS_MAX', 'How long the database may take to end a connection that is closed; then it is cut.'],
  ]),
  limits('persistence/incarnations/server-settlement.ts', serverSettlement, [
    [
      'BARRIER_MS_MAX',
      'A commit by which a server that was started again is found to be settled is made anew after this, where the server does not have it any more.',
    ],
    [
      'SETTLED_MS_MAX',
      'Longest wait of a new connection until a server that was started again has a commit acknowledged; then a 503.',
    ],
  ]),
];
