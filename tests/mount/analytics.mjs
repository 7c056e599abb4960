// Reads tables with DuckDB, without any option. stdin: one path per line. stdout: for each path one line of JSON, [columns, rows,
// names of the numeric columns], or DuckDB's error message.
//   node analytics.mjs TOOLS      TOOLS: the folder in which the package @duckdb/node-api is installed
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

const { DuckDBInstance } = createRequire(resolve(process.argv[2], 'package.json'))('@duckdb/node-api')
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const number = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/

async function read(path) {
    // Reads all rows: the sniffer alone looks at a sample of them.
    await connection.run(`create or replace temp table seen as from '${path.replaceAll("'", "''")}'`)
    const columns = (await connection.runAndReadAll('describe seen')).getRowObjects()
    const [[rows]] = (await connection.runAndReadAll('select count(*) from seen')).getRows()
    return [columns.map(c => c.column_name), Number(rows),
        columns.filter(c => number.test(c.column_type)).map(c => c.column_name)]
}

for (const path of readFileSync(0, 'utf8').split('\n')) {
    let answer
    try {
        answer = await read(path)
    } catch (error) {
        answer = String(error.message ?? error)
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
}
